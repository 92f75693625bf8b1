"""Errors of infeasible problems: the reason, the nearest generalization, what to change."""

from __future__ import annotations

from collections.abc import Iterator

from hybrid.anonymize.search.outcome import Infeasible
from hybrid.anonymize.search.problem import SearchProblem
from hybrid.base.errors import InfeasibleError, Problem


def refuse_impossible(task: SearchProblem) -> None:
    """Raise if no generalization at all can meet a model.

    Raises
    ------
    InfeasibleError
        k exceeds the table, or a sensitive column has too few distinct values; all problems at once.
    """
    problems = list(_impossible(task))
    if problems:
        raise InfeasibleError(problems)


def _impossible(task: SearchProblem) -> Iterator[Problem]:
    n, k = len(task.train), task.options.k
    persons = task.records.persons
    if persons is not None and k > persons.n_persons:
        yield Problem(
            f"k is {k} but there are only {persons.n_persons} persons with a key",
            f"use a k of at most {persons.n_persons}, or more persons",
        )
    elif k > n:
        yield Problem(f"k is {k} but there are only {n} records", f"use a k of at most {n}, or more records")
    for rule in task.rules:
        distinct = task.records.sensitive[rule.attribute].n_values
        if distinct < rule.least_distinct:
            yield Problem(
                f"{rule.name} needs {rule.least_distinct} different values in every class, "
                f"and the whole column has {distinct}",
                "weaken the model, or drop it for this column",
            )
    population = task.records.population
    if population is not None and population.sum() < task.population_k:
        yield Problem(
            f"{task.population_k}-map asks for more people than the population table has ({int(population.sum())})",
            "use a smaller k for k_map, or a larger population table",
        )


def explain(task: SearchProblem, nothing: Infeasible) -> InfeasibleError:
    """The error for a search that found no solution.

    The best it reached, and what to change.
    """
    n, allowed = len(task.train), task.allowed
    lattice = task.lattice
    levels = lattice.levels(nothing.fewest_at)
    reached = ", ".join(f"{name} {level}" for name, level in levels.items())
    wanted = " and ".join([f"k = {task.options.k}", *(rule.name for rule in task.rules)])
    if task.population_k:
        wanted += f" and {task.population_k}-map"
    if nothing.fewest == n:
        message = f"no generalization meets {wanted}: every record is in a class that violates it, at all levels"
        hint = "weaken the models" + (", or free the fixed levels" if task.options.levels else "")
        return InfeasibleError(message, hint=hint)
    if nothing.fewest <= allowed:
        return InfeasibleError(
            f"no generalization meets {wanted} with at most {allowed} of {n} records left out and at most "
            f"{task.allowed_persons} persons without any record",
            hint="set a larger suppression_limit, or weaken the models",
        )
    share = -(-nothing.fewest * 10_000 // n) / 10_000
    proof = "" if nothing.complete else " (of those tried within the time limit)"
    return InfeasibleError(
        f"no generalization meets {wanted} with at most {allowed} of {n} records left out: "
        f"at least {nothing.fewest} would have to go{proof}, at the levels {reached}",
        hint=f"set suppression_limit to {share:g} or more, or weaken the models"
        + (", or free the fixed levels" if task.options.levels else ""),
    )
