"""Risk in the population: against the sum it stands for, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid.anonymize.risk import class_risk, individual_risk


def by_summation(f: int, total: float) -> float:
    """E[1/F] where F - f is negative binomial, added up."""
    from scipy.stats import nbinom

    p = f / total
    failures = np.arange(200_000)
    return float((nbinom.pmf(failures, f, p) / (failures + f)).sum())


@pytest.mark.parametrize(("f", "total"), [(1, 10.0), (1, 300.0), (2, 50.0), (3, 40.0), (10, 2500.0), (200, 30_000.0)])
def test_the_formula_is_the_expectation(f: int, total: float) -> None:
    assert individual_risk(np.array([f]), np.array([total]))[0] == pytest.approx(by_summation(f, total), rel=1e-6)


def test_closed_forms_of_one_and_two() -> None:
    p = 0.05
    assert individual_risk(np.array([1]), np.array([20.0]))[0] == pytest.approx(-p * np.log(p) / (1 - p))
    odds = p / (1 - p)
    assert individual_risk(np.array([2]), np.array([40.0]))[0] == pytest.approx(odds + odds**2 * np.log(p))


def test_everybody_sampled_is_one_of_f() -> None:
    assert individual_risk(np.array([1, 4, 5]), np.array([1.0, 4.0, 2.0])) == pytest.approx([1, 0.25, 0.2])


def test_many_people_do_not_overflow() -> None:
    found = individual_risk(np.array([10**6]), np.array([10.0**9]))[0]
    assert 0 < found < 1.1e-9


def test_persons_count_once_with_their_mean_weight() -> None:
    """Class 0: persons 1 (weights 10, 30) and 2 (20), and a row without a key; class 1: person 1 (7)."""
    classes, persons = np.array([0, 0, 0, 0, 1]), np.array([1, 1, 2, -1, 1])
    risk, sizes = class_risk(classes, persons, np.array([10.0, 30.0, 20.0, 99.0, 7.0]))
    assert list(sizes) == [2, 1]
    assert risk == pytest.approx(individual_risk(np.array([2, 1]), np.array([40.0, 7.0])))
    rows, _ = class_risk(classes, np.arange(5), np.array([10.0, 30.0, 20.0, 99.0, 7.0]))
    assert rows == pytest.approx(individual_risk(np.array([4, 1]), np.array([159.0, 7.0])))
