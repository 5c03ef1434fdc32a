"""What to do about a version that cannot be read."""

from __future__ import annotations

from shlex import quote

__all__ = ["way_out"]


def way_out(name: str | None, version: str | None, *, declared: bool = False) -> str:
    """The commands by which a person vouches for a registered version; empty for any other model.

    ``declared``: its author has put coefficients beside it, so that none need be written down.
    """
    if name is None or version is None:
        return ""
    command = f"coordpath declare {quote(name)} {version}"
    if declared:
        return f"A person whom the policy lets vouches for what its author declares: `{command} --key KEY`."
    return (
        "If it is a linear model all the same, write the coefficients of the model within down where it is trained "
        "(cg.to_coefficients(model, FILE)) and let a person whom the policy lets vouch for them: "
        f"`{command} --coefficients FILE --key KEY`."
    )
