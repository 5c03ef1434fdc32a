"""Writes a zip of pickled statsmodels results, with the versions it runs under; see README.md. Also used by the tests."""

from __future__ import annotations

import json
import pickle
import sys
import warnings
import zipfile

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

FAMILIES, LINKS = sm.families, sm.families.links


def training_data(rows: int = 60, seed: int = 3) -> pd.DataFrame:
    """Numbers, text, categories in an order of their own, truth values, whole numbers, and targets of every kind."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(4.0, 1.0, rows), "km": rng.gamma(2.0, 1.0, rows) + 0.1})
    frame["city"] = rng.choice(["Bern", "Chur", "Zug"], rows)
    frame["size"] = pd.Categorical(rng.choice(["S", "M", "L"], rows), categories=["S", "M", "L"])
    frame["new"] = rng.random(rows) < 0.5
    frame["tier"] = rng.integers(1, 4, rows)
    frame["years"] = rng.random(rows) + 0.5
    score = 0.3 * frame["age"] - 0.2 * frame["km"] + 0.4 * (frame["city"] == "Zug") - 1.0
    frame["price"] = score + rng.normal(0, 0.4, rows)
    frame["good"] = (rng.random(rows) < 1 / (1 + np.exp(-score))).astype(int)
    frame["count"] = rng.poisson(np.exp(score + 0.5))
    frame["cost"] = rng.gamma(2.0, np.exp(score))
    return frame


FORMULA = "age + C(city)*np.log(km) + size + new + C(tier, Treatment(2)) + I(age**2)"
SHORT = "age + C(city) + km"


def by_arrays(frame: pd.DataFrame) -> dict[str, object]:
    """Results of models that were given their design."""
    design = sm.add_constant(frame[["age", "km"]])
    numbers = frame[["age", "km"]]
    return {
        "ols": sm.OLS(frame["price"], design).fit(),
        "ols-array": sm.OLS(frame["price"].to_numpy(), design.to_numpy()).fit(),
        "ols-without": sm.OLS(frame["price"], numbers).fit(),
        "ols-robust": sm.OLS(frame["price"], design).fit(cov_type="HC1"),
        "ols-last": sm.OLS(frame["price"], sm.add_constant(numbers, prepend=False)).fit(),
        "wls": sm.WLS(frame["price"], design, weights=frame["years"]).fit(),
        "gls": sm.GLS(frame["price"], design, sigma=frame["years"]).fit(),
        "glm-gaussian": sm.GLM(frame["price"], design).fit(),
        "glm-binomial": sm.GLM(frame["good"], design, family=FAMILIES.Binomial()).fit(),
        "glm-poisson": sm.GLM(frame["count"], design, family=FAMILIES.Poisson()).fit(),
        "glm-exposure": sm.GLM(frame["count"], design, family=FAMILIES.Poisson(), exposure=frame["years"]).fit(),
        "glm-gamma": sm.GLM(frame["cost"], design, family=FAMILIES.Gamma(LINKS.Log())).fit(),
        "glm-tweedie": sm.GLM(frame["cost"], design, family=FAMILIES.Tweedie(LINKS.Log(), var_power=1.6)).fit(),
        "glm-tweedie-1": sm.GLM(frame["count"], design, family=FAMILIES.Tweedie(LINKS.Log(), var_power=1.0)).fit(),
        "glm-tweedie-2": sm.GLM(frame["cost"], design, family=FAMILIES.Tweedie(LINKS.Log(), var_power=2)).fit(),
        "glm-negative": sm.GLM(frame["count"], design, family=FAMILIES.NegativeBinomial(LINKS.Log(), alpha=0.5)).fit(),
        "glm-tied": sm.GLM(frame["count"], design, family=FAMILIES.Poisson()).fit_constrained("age = km"),
        "logit": sm.Logit(frame["good"], design).fit(disp=0),
        "logit-lasso": sm.Logit(frame["good"], design).fit_regularized(alpha=0.1, disp=0),
        "poisson": sm.Poisson(frame["count"], design).fit(disp=0),
        "negative": sm.NegativeBinomial(frame["count"], design).fit(disp=0),
        "negative-array": sm.NegativeBinomial(frame["count"].to_numpy(), design.to_numpy()).fit(disp=0),
        "geometric": sm.NegativeBinomial(frame["count"], design, loglike_method="geometric").fit(disp=0),
        "net": sm.OLS(frame["price"], design).fit_regularized(alpha=0.05),
        "net-again": sm.OLS(frame["price"], design).fit_regularized(alpha=0.05, refit=True),
    }


def by_formulas(frame: pd.DataFrame) -> dict[str, object]:
    """Results of models that were given a formula."""
    return {
        "f-ols": smf.ols(f"price ~ {FORMULA}", frame).fit(),
        "f-ols-without": smf.ols("price ~ age + city - 1", frame).fit(),
        "f-subset": smf.ols(f"price ~ {SHORT}", frame, subset=frame["age"] > 3.5).fit(),
        "f-wls": smf.wls(f"price ~ {SHORT}", frame, weights=frame["years"]).fit(),
        "f-gls": smf.gls(f"price ~ {SHORT}", frame, sigma=frame["years"]).fit(),
        "f-glm-binomial": smf.glm(f"good ~ {SHORT}", frame, family=FAMILIES.Binomial()).fit(),
        "f-glm-gamma": smf.glm(f"cost ~ {SHORT}", frame, family=FAMILIES.Gamma(LINKS.Log())).fit(),
        "f-logit": smf.logit(f"good ~ {SHORT}", frame).fit(disp=0),
        "f-poisson": smf.poisson(f"count ~ {SHORT}", frame).fit(disp=0),
        "f-negative": smf.negativebinomial(f"count ~ {SHORT}", frame).fit(disp=0),
    }


def fitted(frame: pd.DataFrame) -> dict[str, object]:
    """All of them, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {**by_arrays(frame), **by_formulas(frame)}


def inputs_of(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """What a model of that name is given to predict."""
    if name.startswith("f-"):
        return frame.drop(columns=["price", "good", "count", "cost", "years"])
    numbers = frame[["age", "km"]]
    if name == "ols-without":
        return numbers
    return sm.add_constant(numbers, prepend=name != "ols-last", has_constant="add")


def write(path: str) -> None:
    """Write the zip."""
    train, rows = training_data(), training_data(8, seed=9)
    document: dict[str, object] = {}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for position, (name, result) in enumerate(fitted(train).items()):
            inputs = inputs_of(name, rows)
            predictions = np.asarray(result.predict(inputs)).tolist()
            document[name] = {
                "rows": json.loads(inputs.to_json(orient="records", double_precision=15)),
                "predictions": predictions,
            }
            out.writestr(f"{name}.{(2, 4, 5)[position % 3]}.pkl", pickle.dumps(result, (2, 4, 5)[position % 3]))
            if hasattr(result, "remove_data"):
                result.remove_data()
                out.writestr(f"{name}-bare.5.pkl", pickle.dumps(result, 5))
        out.writestr("results.json", json.dumps(document))


if __name__ == "__main__":
    write(sys.argv[1])
