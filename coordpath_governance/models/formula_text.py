"""The text of a model formula, by a closed grammar: statsmodels evaluates that text as Python when a model is loaded.

    formula  side ~ side
    side     operands joined by + − * / : **, with ( ); 0 and 1 stand for the intercept; after ** a whole number
    operand  a column, Q("a column"), C(column), C(column, Treatment("level")), or a function of numbers:
             np.log, log1p, sqrt, exp, expm1, square, abs of arithmetic, or I(arithmetic)

Anything else is refused by name, so that a formula that is read means the same when it is evaluated. Operators have the
meaning that patsy gives them; `formula_terms` multiplies them out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from coordpath_governance.models.formula_tokens import FUNCTIONS, Token, parsed_number, refused, tokens_of, written

__all__ = [
    "RESERVED",
    "Apply",
    "Binary",
    "Category",
    "ColumnRef",
    "Expression",
    "Factor",
    "Formula",
    "Node",
    "Number",
    "Operation",
    "parse_formula",
]

RESERVED = ("C", "I", "np", "Q", "Treatment")
"""Names with a meaning in a formula. A column of the data with such a name would replace that meaning."""

_MOST_DEPTH, _MOST_OPERATIONS = 40, 200
_NOT_COLUMNS = ("nan", "inf", "infinity")


@dataclass(frozen=True)
class Number:
    """A number."""

    value: float


@dataclass(frozen=True)
class ColumnRef:
    """A column of the data."""

    name: str


@dataclass(frozen=True)
class Apply:
    """One of numpy's `FUNCTIONS` of an expression."""

    function: str
    argument: Expression


@dataclass(frozen=True)
class Binary:
    """Two expressions joined by + − * / or **."""

    sign: str
    left: Expression
    right: Expression


Expression: TypeAlias = Number | ColumnRef | Apply | Binary


@dataclass(frozen=True)
class Category:
    """C(column), and the level that its treatment coding leaves out (patsy's ``reference``), if it names one."""

    name: str
    omitted_level: str | float | None = None


@dataclass(frozen=True)
class Factor:
    """What an operand of a formula computes. ``text`` is its name; two operands with the same text are the same factor.

    ``bare``: the operand is a plain column, so the values in the column decide whether it is a number or a category.
    """

    text: str
    value: Expression | Category = field(compare=False)
    bare: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Operation:
    """A formula operator: two nodes and a sign. For a sign before a single node ``left`` is None."""

    sign: str
    left: Node | None
    right: Node


Node: TypeAlias = Factor | Operation | int
"""A factor, an operation, or a whole number."""


@dataclass(frozen=True)
class Formula:
    """Both sides of a formula."""

    left: Node
    right: Node


def parse_formula(text: object) -> Formula:
    """Parse a formula. Raises `UnsupportedModelError`, which names what is not in the grammar."""
    if not isinstance(text, str):
        raise refused("is not text")
    return _Parser(tokens_of(text)).formula()


class _Parser:
    """A recursive descent parser: every method consumes its tokens and returns their meaning."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._operations = 0

    def formula(self) -> Formula:
        left = self._side()
        self._expect("~")
        right = self._side()
        if self._at != len(self._tokens):
            raise refused(f"has {self._tokens[self._at].text[:40]!r} where it should end")
        return Formula(left, right)

    # Formula operators

    def _side(self) -> Node:
        self._descend()
        node = self._signed() if self._sees("+", "-") else self._products()
        while self._sees("+", "-"):
            sign = self._take().text
            node = Operation(sign, node, self._products())
        self._depth -= 1
        return node

    def _signed(self) -> Node:
        """A sign before the first operand. A minus is allowed only before 0 or 1."""
        sign = self._take().text
        node = self._products()
        if sign == "-" and node not in (0, 1):
            raise refused("has a minus before something else than 0 or 1")
        return Operation(sign, None, node)

    def _products(self) -> Node:
        node = self._interactions()
        while self._sees("*", "/"):
            sign = self._take().text
            node = Operation(sign, node, self._interactions())
        return node

    def _interactions(self) -> Node:
        node = self._powers()
        while self._sees(":"):
            self._take()
            node = Operation(":", node, self._powers())
        return node

    def _powers(self) -> Node:
        node = self._operand()
        while self._sees("**"):
            self._take()
            power = self._take()
            if power.kind != "number" or not power.text.isdecimal() or len(power.text) > 3 or int(power.text) < 1:
                raise refused(f"has '**' before {power.text[:40]!r}")
            node = Operation("**", node, int(power.text))
        return node

    def _operand(self) -> Node:
        if self._sees("("):
            self._take()
            node = self._side()
            self._expect(")")
            return node
        begin = self._at
        self._operations = 0
        token = self._take()
        if token.kind == "number":
            if token.text not in ("0", "1"):
                raise refused(f"has the number {token.text[:40]} outside of I()")
            return int(token.text)
        if token.kind != "name":
            raise refused(f"has {token.text[:40]!r} where a column should be")
        value, bare = self._factor(token.text)
        return Factor(written(self._tokens[begin : self._at]), value, bare)

    def _factor(self, name: str) -> tuple[Expression | Category, bool]:
        if name == "C" and self._sees("("):
            return self._category(), False
        if name == "I" and self._sees("("):
            return self._bracketed(), False
        if name in ("np", "Q") and self._sees(".", "("):
            value = self._named(name)
            return value, isinstance(value, ColumnRef)
        if name.lower() in _NOT_COLUMNS:
            raise refused(f"has the name {name!r}, which patsy takes for a number,")
        return self._column(name), True

    def _column(self, name: str) -> ColumnRef:
        if self._sees("("):
            raise refused(f"calls {name[:40]!r}")
        if self._sees("."):
            raise refused(f"takes an attribute of {name[:40]!r}")
        if name in RESERVED:
            raise refused(f"has {name!r} without its brackets")
        return ColumnRef(name)

    def _category(self) -> Category:
        """C(column) or C(column, Treatment…); parsing starts at the bracket."""
        self._expect("(")
        token = self._take()
        if token.kind != "name":
            raise refused(f"has C() of {token.text[:40]!r}")
        quoted = token.text == "Q" and self._sees("(")
        column = self._quoted() if quoted else self._column(token.text)
        omitted_level = None
        if self._sees(","):
            self._take()
            contrast = self._take().text
            if contrast != "Treatment":
                raise refused(f"codes categories by {contrast[:40]!r}")
            omitted_level = self._treatment() if self._sees("(") else None
        self._expect(")")
        return Category(column.name, omitted_level)

    def _treatment(self) -> str | float | None:
        """The level in Treatment(…); parsing starts at the bracket."""
        self._expect("(")
        level: str | float | None = None
        if not self._sees(")"):
            token = self._take()
            if token.text == "reference" and self._sees("="):
                self._take()
                token = self._take()
            minus = token.text == "-"
            token = self._take() if minus else token
            if token.kind == "text" and not minus:
                level = token.text[1:-1]
            elif token.kind == "number":
                level = parsed_number(token.text) * (-1 if minus else 1)
            else:
                raise refused(f"has Treatment() of {token.text[:40]!r}")
        self._expect(")")
        return level

    # Arithmetic

    def _bracketed(self) -> Expression:
        self._expect("(")
        value = self._sum()
        self._expect(")")
        return value

    def _named(self, name: str) -> Expression:
        """np.function(…) or Q("…"); parsing starts after the name."""
        if name == "Q":
            return self._quoted()
        self._expect(".")
        function = self._take().text
        if function not in FUNCTIONS:
            raise refused(f"uses np.{function[:40]}")
        return Apply(function, self._bracketed())

    def _quoted(self) -> ColumnRef:
        """("…") after Q."""
        self._expect("(")
        token = self._take()
        if token.kind != "text":
            raise refused(f"has Q() of {token.text[:40]!r}")
        self._expect(")")
        return ColumnRef(token.text[1:-1])

    def _sum(self) -> Expression:
        self._descend()
        value = self._product()
        while self._sees("+", "-"):
            value = self._joined(value, self._product)
        self._depth -= 1
        return value

    def _product(self) -> Expression:
        value = self._unary()
        while self._sees("*", "/"):
            value = self._joined(value, self._unary)
        return value

    def _joined(self, left: Expression, right: Callable[[], Expression]) -> Binary:
        self._operations += 1
        if self._operations > _MOST_OPERATIONS:
            raise refused(f"has more than {_MOST_OPERATIONS} operations in one expression")
        return Binary(self._take().text, left, right())

    def _unary(self) -> Expression:
        if not self._sees("+", "-"):
            return self._power()
        self._descend()
        minus = self._take().text == "-"
        value = self._unary()
        self._depth -= 1
        return Binary("*", Number(-1), value) if minus else value

    def _power(self) -> Expression:
        value = self._primary()
        if not self._sees("**"):
            return value
        self._take()
        self._descend()
        exponent = self._unary()
        self._depth -= 1
        return Binary("**", value, exponent)

    def _primary(self) -> Expression:
        if self._sees("("):
            return self._bracketed()
        token = self._take()
        if token.kind == "number":
            return Number(parsed_number(token.text))
        if token.kind != "name":
            raise refused(f"has {token.text[:40]!r} where a number should be")
        if token.text == "I" and self._sees("("):
            return self._bracketed()
        if token.text in ("np", "Q") and self._sees(".", "("):
            return self._named(token.text)
        return self._column(token.text)

    # Tokens

    def _sees(self, *signs: str) -> bool:
        if self._at >= len(self._tokens):
            return False
        token = self._tokens[self._at]
        return token.kind == "sign" and token.text in signs

    def _take(self) -> Token:
        if self._at >= len(self._tokens):
            raise refused("ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _expect(self, sign: str) -> None:
        token = self._take()
        if token.kind != "sign" or token.text != sign:
            raise refused(f"has {token.text[:40]!r} where {sign!r} should be")

    def _descend(self) -> None:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise refused("is nested too deeply")
