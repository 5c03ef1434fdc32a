"""An alias that a person would take for a guarded one."""

import pytest

from coordpath_governance.errors import RefusedError
from coordpath_governance.review.lookalikes import looks_like
from coordpath_governance.review.ports import Actor

NAME = "credit"

GUARDED = ("champion", "production-eu")


@pytest.mark.parametrize(
    "alias",
    [
        "Champion",
        "CHAMPION",
        "ｃｈａｍｐｉｏｎ",
        "сhampion",  # Cyrillic с
        "chаmpiоn",  # Cyrillic а and о
        "снамріоп".replace("п", "ո"),  # no Latin letter at all
        "ϲhampiοn",  # Greek lunate sigma and omicron
        "ςhampion",
        "chαmpιοn",
        "chámpión",
        "champio\u0301n",
        "champıon",
        "champl0n",
        "charnpion",
        "cham\u200bpion",
        "champiₒn",
        "chᾳmpion",  # Greek alpha with an iota below, an accent that folding capitals makes a letter
        "CHᾼMPION",
        "champioῃ",
        "champioŉ",  # an n with an apostrophe before it
        "chẚmpion",
        "championʼ",
        "champˈon",
        "champion\u3164",  # letters that show nothing
        "\u115fcham\u1160pion",
        "champion\uffa0",
        "chამpion".replace("ა", "ა"),  # Georgian letters, for which there is no plain one
        "ꓚꓧꓮꓟꓑꓲꓳꓠ",  # Lisu
        "ⲥⲏⲁⲙⲣⲓⲟⲛ",  # Coptic
        "ᏟᎻᎪᎷᏢᏐᏫᏁ",  # Cherokee
        "ᑕᕼᗩᗰᑭᓰᗝᑎ",  # Canadian syllabics
        "production-еu",
        "Prοduction-EU",
        "champiσn",  # Greek sigma, which is an s to the ear and an o to the eye
        "chaмpiσn",
        "снамріоп",  # Cyrillic п, an n in italics
        "сһамріон",  # Cyrillic н
        "champюn",  # Cyrillic ю, drawn as io
        "ϲһаmрюn",
        "champ٠ion",  # an Arabic zero, drawn as a dot
        "champion۰",
        "prоductiоn-ɛu",
    ],
)
def test_what_looks_like_a_guarded_alias(alias):
    assert looks_like(alias, GUARDED)


@pytest.mark.parametrize(
    "alias",
    [
        "challenger",
        "champions",
        "champ",
        "чемпион",
        "победитель",
        "冠军",
        "ꓚꓲꓠꓑꓮꓟꓲꓮ",
        "ᐃᓄᒃᑎᑐᑦᑕᖅ",
        "shadow",
        "",
        "production-us",
        "production-юs",
        "champion-ю",
        "champion-冠军",
        "σύμμαχος",
        "нападающий",
        "εὕρηκα",
    ],
)
def test_what_does_not(alias):
    assert not looks_like(alias, GUARDED)


def test_the_guard_refuses_it_and_leaves_others_alone(champion_world):
    world = champion_world
    with pytest.raises(RefusedError, match="looks like a guarded alias"):
        world.guard.set_alias(world.registry, NAME, "сhampion", "2", Actor())
    assert world.events()[-1] == "refusal"
    world.guard.set_alias(world.registry, NAME, "чемпион", "2", Actor())
    assert world.registry.set[NAME] == {"champion": "1", "чемпион": "2"}
