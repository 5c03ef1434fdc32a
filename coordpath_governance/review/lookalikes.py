"""Aliases that people would take for a guarded one: other capitals, other scripts, accents, digits for letters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

__all__ = ["looks_like", "same_to_a_database"]

_SAME_SHAPE = str.maketrans(
    "авеёєіїјкмнорсѕтухһԁԛԝӏҁզոսցհքօյѵґ"
    "αβγδεζηικλμνορςστυφχωϲϳ"
    "ⲁⲃⲅⲇⲉⲍⲏⲓⲕⲗⲙⲛⲟⲡⲣⲥⲧⲩⲫⲭⲱ"
    "ꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ"
    "ᎠᎡᎢᎥᎩᎪᎬᎳᎷᎻᎾᏀᏁᏃᏐᏒᏙᏚᏞᏟᏢᏦᏫᏴ"
    "ᐯᑌᑎᑕᑭᒍᒪᓰᔕᕼᖇᖴᗅᗩᗝᗪᗯᗰᗷ᙭"
    "ıɑɡɩⅼƖɭʟʜɴʀʏᴀᴄᴇᴏᴘᴠᴡᴢłøðþđħŋ",
    "abeeeiijkmhopcstyxhdqwlcznughpojvr"
    "abydezniklmvopcstuoxwcj"
    "abrdezhiklmnonpctyoxw"
    "bpddtgkjczfmnlsrvhwxyaeiou"
    "driiyaewmhognzirvslcpkob"
    "vuncpjlishrfaaodwmbx"
    "iagiiiilhnryaceopvwzlodpdhn",
)
"""Letters of Cyrillic, Armenian, Greek, Coptic, Lisu, Cherokee, Canadian syllabics and rarer Latin ones, each with the
plain letter that it looks like."""

_SAME_TO_THE_EYE = str.maketrans("01l|", "oiii")


def looks_like(alias: str, guarded: Iterable[str]) -> bool:
    """Whether a person might take ``alias`` for one of the guarded aliases.

    A foreign letter that we have no plain letter for could look like anything: among plain letters it fits every place.
    """
    mine = _shape(alias)
    mixed = any(char.isascii() and char.isalpha() for char in mine)
    return any(_fits(mine, _shape(each), mixed=mixed) for each in guarded)


def same_to_a_database(alias: str) -> str:
    """One spelling of an alias for databases that do not tell capitals, widths or invisible characters apart."""
    folded = unicodedata.normalize("NFKC", alias).casefold()
    return "".join(char for char in folded if unicodedata.category(char)[0] not in "CZ")


def _shape(alias: str) -> str:
    """What is left to the eye: no capitals, accents or invisible characters, and one letter for all that look like it."""
    apart = unicodedata.normalize("NFKD", same_to_a_database(alias.translate(_SAME_SHAPE)))
    plain = "".join(char for char in apart if unicodedata.category(char)[0] not in "MCZ").translate(_SAME_SHAPE)
    return plain.translate(_SAME_TO_THE_EYE).replace("rn", "m").replace("vv", "w")


def _fits(mine: str, theirs: str, *, mixed: bool) -> bool:
    if len(mine) != len(theirs):
        return False
    return all(one == other or (mixed and not one.isascii()) for one, other in zip(mine, theirs, strict=True))
