"""What a statsmodels model predicts from its score: family, link and power, and the loss it was fitted by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from coordpath_governance.models.fitted import as_float
from coordpath_governance.models.kinds import LINKS
from coordpath_governance.models.linear_model import TrainingFacts
from coordpath_governance.models.statsmodels_names import FAMILY_ATTRIBUTES
from coordpath_governance.models.statsmodels_parts import Part, StoredResult
from coordpath_governance.models.tree import ArchivedObject

__all__ = ["Kind", "kind_of"]

_CLASSES = ("0", "1")
_FAMILIES = "statsmodels.genmod.families.family."
_LINK_HOME = "statsmodels.genmod.families.links."
_LINK_NAMES: Mapping[str, str] = {
    "Identity": "identity",
    "identity": "identity",
    "Log": "log",
    "log": "log",
    "Logit": "logit",
    "logit": "logit",
}


@dataclass(frozen=True)
class Kind:
    """Family, classes and power of the `LinearModel`; ``facts`` are added to its training facts."""

    family: str
    classes: tuple[str, ...] = ()
    power: float | None = None
    facts: TrainingFacts = field(default_factory=dict)

    @property
    def link(self) -> str:
        """The family's link."""
        return LINKS[self.family]


def kind_of(stored: StoredResult) -> Kind:
    """The kind of the model. Raises `UnsupportedModelError` for a family or link that we have no cost for."""
    return _KINDS[stored.kind](stored)


def _least_squares(_: StoredResult) -> Kind:
    return Kind("gaussian")


def _generalised(stored: StoredResult) -> Kind:
    family = _part(stored.model, "family", _FAMILIES)
    if any(name not in FAMILY_ATTRIBUTES for name in family.archived.attributes) or not family.archived.is_plain:
        raise family.error("it has an attribute that no family has")
    name = family.archived.class_name
    if name not in _GENERALISED:
        raise stored.model.refusal(
            f"has the family {name}, which we have no cost for; known are {', '.join(_GENERALISED)} with the links "
            "identity, logit and log"
        )
    kind = _GENERALISED[name](family)
    link = _link(family)
    if link != kind.link:
        raise stored.model.refusal(
            f"has the family {name} with the link {link}, and a {kind.family} cost is convex in the score with the link "
            f"{kind.link} only; fit it with that link"
        )
    return kind


def _link(family: Part) -> str:
    """The link that the family predicts with. A link that we read must be exactly as statsmodels makes it."""
    attributes_with_link = [name for name in ("_link", "link") if name in family.archived.attributes]
    if len(attributes_with_link) != 1:
        raise family.error("it has no link, or two of them")
    link = _part(family, attributes_with_link[0], _LINK_HOME)
    name = link.archived.class_name
    link_name = _LINK_NAMES.get(name)
    if link_name is None:
        return name
    attributes = dict(link.archived.attributes)
    power = as_float(attributes.pop("power", 1.0))
    if attributes or not link.archived.is_plain or (link_name == "identity" and power != 1.0):
        raise link.error("it is not as statsmodels makes it")
    if link_name != "identity" and "power" in link.archived.attributes:
        raise link.error("it has a power, which no such link has")
    return link_name


def _part(owner: Part, name: str, home: str) -> Part:
    value = owner.get(name)
    if not isinstance(value, ArchivedObject) or not value.class_path.startswith(home):
        raise owner.error(f"'{name}' is not of a class of statsmodels")
    return Part(value, f"{owner.where}, its {name.strip('_')}")


def _tweedie(family: Part) -> Kind:
    power = as_float(family.get("var_power"))
    if power is None:
        raise family.error("it has no power")
    if not 1.0 <= power <= 2.0:
        raise family.refusal(f"has the power {power:g}, whose deviance is not convex in every score; known are 1 to 2")
    name = {1.0: "poisson", 2.0: "gamma"}.get(power, "tweedie")
    return Kind(name, power=power if name == "tweedie" else None)


def _negative_binomial(_: object) -> Kind:
    return Kind("poisson", facts={"loss": "negative binomial likelihood"})


_GENERALISED: Mapping[str, Callable[[Part], Kind]] = {
    "Gaussian": lambda _: Kind("gaussian"),
    "Binomial": lambda _: Kind("binomial", _CLASSES),
    "Poisson": lambda _: Kind("poisson"),
    "Gamma": lambda _: Kind("gamma"),
    "Tweedie": _tweedie,
    "NegativeBinomial": _negative_binomial,
}
"""By the family's class. The mean of a negative binomial is e^score, as a Poisson rate is, so it is judged as one."""

_KINDS: Mapping[str, Callable[[StoredResult], Kind]] = {
    "OLS": _least_squares,
    "WLS": _least_squares,
    "GLS": _least_squares,
    "GLM": _generalised,
    "Logit": lambda _: Kind("binomial", _CLASSES),
    "Poisson": lambda _: Kind("poisson"),
    "NegativeBinomial": _negative_binomial,
}
"""By the model's class."""
