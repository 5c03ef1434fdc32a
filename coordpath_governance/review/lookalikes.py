"""Aliases that people would take for a guarded one: other capitals, other scripts, accents, digits for letters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

__all__ = ["looks_like", "same_to_a_database"]

_SAME_SHAPE = str.maketrans(
    "авеёєіїјкморсѕтухһԁԛԝӏҁզոսցհքօյѵґ"
    "αβγδεζηικλμνορςτυφχωϲϳ"
    "ⲁⲃⲅⲇⲉⲍⲏⲓⲕⲗⲙⲛⲟⲡⲣⲥⲧⲩⲫⲭⲱ"
    "ꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ"
    "ᎠᎡᎢᎥᎩᎪᎬᎳᎷᎻᎾᏀᏁᏃᏐᏒᏙᏚᏞᏟᏢᏦᏫᏴ"
    "ᐯᑌᑎᑕᑭᒍᒪᓰᔕᕼᖇᖴᗅᗩᗝᗪᗯᗰᗷ᙭"
    "ıɑɡɩⅼƖɭʟʜɴʀʏᴀᴄᴇᴏᴘᴠᴡᴢłøðþđħŋ",
    "abeeeiijkmopcstyxhdqwlcznughpojvr"
    "abydezniklmvopctuoxwcj"
    "abrdezhiklmnonpctyoxw"
    "bpddtgkjczfmnlsrvhwxyaeiou"
    "driiyaewmhognzirvslcpkob"
    "vuncpjlishrfaaodwmbx"
    "iagiiiilhnryaceopvwzlodpdhn",
)
"""Letters of Cyrillic, Armenian, Greek, Coptic, Lisu, Cherokee, Canadian syllabics and rarer Latin ones, each with the
plain letter that it looks like. A letter that could be taken for more than one, such as н or σ, is not among them."""

_SAME_AS_TWO = str.maketrans({"ю": "io", "ы": "bi", "æ": "ae", "œ": "oe"})
"""Letters that look like two."""

_DOTS = ("ARABIC-INDIC DIGIT ZERO", "EXTENDED ARABIC-INDIC DIGIT ZERO")

_SAME_TO_THE_EYE = str.maketrans("01l|", "oiii")


def looks_like(alias: str, guarded: Iterable[str]) -> bool:
    """Whether a person might take ``alias`` for one of the guarded aliases.

    Among plain letters, a foreign letter without a known plain letter counts as a match for any letter. A small sign counts
    as a letter, or as nothing.
    """
    shapes = {_shape(alias), _shape("".join(char for char in _apart(alias) if not _is_small_sign(char)))}
    return any(_fits(shape, _shape(each)) for each in guarded for shape in shapes)


def same_to_a_database(alias: str) -> str:
    """One spelling of an alias for databases that do not tell capitals, widths or invisible characters apart."""
    folded = unicodedata.normalize("NFKC", alias).casefold()
    return "".join(char for char in folded if unicodedata.category(char)[0] not in "CZ")


def _shape(alias: str) -> str:
    """What is left to the eye: no capitals, accents or invisible characters, and one letter for all that look like it.

    Accents go before capitals: of the iota below a Greek letter, a capital makes a letter.
    """
    plain = _apart(same_to_a_database(_apart(alias).translate(_SAME_SHAPE))).translate(_SAME_SHAPE)
    return plain.translate(_SAME_AS_TWO).translate(_SAME_TO_THE_EYE).replace("rn", "m").replace("vv", "w")


def _apart(alias: str) -> str:
    """Letters without accents, and nothing that is invisible; some scripts have letters that only fill a place."""
    return "".join(
        char
        for char in unicodedata.normalize("NFKD", alias)
        if unicodedata.category(char)[0] not in "MCZ" and not unicodedata.name(char, "").endswith(" FILLER")
    )


def _is_small_sign(char: str) -> bool:
    """An apostrophe or another small sign that counts as a letter, or a zero that is drawn as a dot."""
    name = unicodedata.name(char, "")
    return name.startswith("MODIFIER LETTER ") or name in _DOTS


def _fits(shape: str, guarded: str) -> bool:
    if len(shape) != len(guarded):
        return False
    mixed = any(char.isascii() and char.isalpha() for char in shape)
    return all(first == second or (mixed and not first.isascii()) for first, second in zip(shape, guarded, strict=True))
