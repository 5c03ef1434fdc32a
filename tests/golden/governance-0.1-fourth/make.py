"""Makes this folder's files: what no other fixture fills in. `python make.py`, with the tools of `governance-0.1-second`.

Proofs and proposals of keys, a promotion that another person finished after a crash, one that a signed request asked for,
waivers that a promotion used, what a server vouches for, and every word where a recorded body has a choice.
"""

from __future__ import annotations

import importlib.util
import json
import re
import time
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

HERE = Path(__file__).parent
SECOND = HERE.parent / "governance-0.1-second" / "make.py"
LONG_ENOUGH = 3.5
"""Seconds after which an intent without its promotion is one of a crash."""

_spec = importlib.util.spec_from_file_location("second", SECOND)
made = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made)
made.HERE = HERE
made.EVERY_EVENT = 18
made.POLICY = made.POLICY.replace("rules:\n", "rules:\n  standardised_change: {{absolute: 0.001, otherwise: review}}\n")
run, report, decide, second, register, fitted = (
    made.run,
    made.report,
    made.decide,
    made.second,
    made.register,
    made.fitted,
)
ROLES = {"Ada": "policy-admin", "Bob": "validator", "Cleo": "validator", "Olga": "owner", "Otto": "owner", "Rita": "risk"}
ANN = ("--key", "keys/ann.pem")


def own_key(owner: str, role: str, code: int, *options: str) -> str:
    """A key that its owner made, with a proof of it."""
    where = f"keys/{owner.lower()}"
    public = re.search(
        r"Public key: (\S+)", run("key", "make", owner, "--out", f"{where}.pem", "--proof", f"{where}.proof", *options)
    )
    return run("key", "new", owner, "--role", role, "--public", public[1], "--proof", f"{where}.proof", *ANN, code=code)


def server(owner: str) -> None:
    """From now on the guarded registry is asked by somebody whom its server has authenticated."""
    import coordpath_governance.guarded.lazy_guard as guarding
    from coordpath_governance.review.ports import Actor

    guarding.current_actor = lambda _keyring: Actor(owner, "server")


def story() -> None:
    """Two models, from the first key to the export."""
    import mlflow
    from sklearn.tree import DecisionTreeClassifier

    import coordpath_governance.guarded.lazy_guard as guarding
    from coordpath_governance.guarded.inner_registry import InnerRegistry
    from coordpath_governance.ledger.store import Ledger
    from coordpath_governance.models import LinearModel, NumericTerm, to_document
    from coordpath_governance.reference.sources import open_source
    from coordpath_governance.registry.client_registry import ask_to_promote
    from coordpath_governance.review.requests import REQUEST_TAG, sign_request
    from coordpath_governance.signing.keys import PrivateKey

    by_key = guarding.current_actor
    mlflow.create_experiment("fixture", artifact_location=(made.PLACE / "artifacts").as_uri())
    client = mlflow.MlflowClient()
    guarded = mlflow.MlflowClient(registry_uri=f"coordpath:{made.DATABASE}")
    made.rows()
    run("key", "new", "Ann", "--role", "policy-admin", "--out", "keys/ann.pem", "--no-passphrase")
    for owner, role in ROLES.items():
        own_key(owner, role, 0, "--no-passphrase")
    ledger = Ledger.open(f"sqlite:///{made.PLACE / 'coordpath-ledger.db'}")
    for name, limit, admins in (("price", 20.0, 2), ("late", -1e9, 1)):
        client.create_registered_model(name)
        sha256 = open_source(Path(f"{name}.csv")).sha256
        Path(f"{name}.yaml").write_text(
            made.POLICY.format(name=name, sha256=sha256, target=name, limit=limit, admins=admins)
        )
    register("price", fitted("price", 40), guarded=False)
    client.set_registered_model_alias("price", "champion", "1")
    run("policy", "adopt", "late.yaml", *ANN)
    run("policy", "adopt", "price.yaml", *ANN)
    second(own_key("Zoe", "validator", 3, "--no-passphrase", "--ledger-id", ledger.id))
    second(run("policy", "retire", "late", "--reason", "a better one comes", *ANN, code=3))
    second(run("policy", "adopt", "late.yaml", *ANN, code=3))
    zoe = next(line.split()[0] for line in run("key", "list").splitlines() if "Zoe" in line)
    run("key", "revoke", zoe, "--reason", "left", *ANN)
    run("adopt", "price", "--reason", "was champion before", *ANN)

    server("olga")
    for end in (50, 60):
        register("price", fitted("price", end))
    guarding.current_actor = by_key
    for end in (70, 80):
        register("price", fitted("price", end))
    report("price", "2")
    decide("price", "2", "bob")
    key = PrivateKey.load(Path("keys/bob.pem"), None)
    request = sign_request(
        registry=ledger.id, name="price", version="2", alias="champion", key=key, now=datetime.now(timezone.utc)
    )
    ask_to_promote(guarded, "price", "2", "champion", request=(REQUEST_TAG, request))

    run("promote", "price", "1", "--emergency", "--reason", "fails on new codes", "--key", "keys/rita.pem")
    decide("price", "1", "bob", word="--reject")
    report("price", "2")
    decide("price", "2", "bob", "cleo")
    server("dora")
    set_alias, InnerRegistry.set_alias = InnerRegistry.set_alias, _broken
    with suppress(Exception):
        guarded.set_registered_model_alias("price", "champion", "2")
    InnerRegistry.set_alias, guarding.current_actor = set_alias, by_key
    time.sleep(LONG_ENOUGH)
    run("promote", "price", "2", "--key", "keys/bob.pem")
    for version in ("3", "4", "5"):
        report("price", version)
    decide("price", "3", "cleo", word="--reject")
    decide("price", "4", "bob")

    for end in (80, 85):
        register("late", fitted("late", end))
    report("late", "1")
    run("gate", "late", "1", code=3)
    run("waive", "late", "1", "final_cost_increase", "--reason", "no other yet", "--key", "keys/rita.pem")
    decide("late", "1", "bob", "cleo", "otto")
    run("promote", "late", "1", "--key", "keys/bob.pem")
    report("late", "2")
    run("promote", "late", "2", "--key", "keys/bob.pem", code=1)
    run("waive", "late", "2", "final_cost_increase", "--reason", "as before", "--key", "keys/rita.pem")
    tree = DecisionTreeClassifier(max_depth=1).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    register("late", tree, serialization_format="cloudpickle")
    terms = (NumericTerm("area", 0.0), NumericTerm("age", 0.1))
    told = LinearModel(-3.0, numeric=terms, family="binomial", link="logit", classes=("0", "1"), estimator="a tree")
    Path("coefficients.json").write_text(json.dumps(to_document(told), indent=1) + "\n")
    run("declare", "late", "3", "--coefficients", "coefficients.json", "--reason", "same score", "--key", "keys/bob.pem")

    run("audit", "anchor", "-o", "anchor.json")
    run("audit", "export", "-o", "ledger.jsonl")


def _broken(*_arguments: object) -> None:
    raise OSError("the registry's database went away")


made.story = story

if __name__ == "__main__":
    made.main()
