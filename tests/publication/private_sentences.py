"""Every sentence that the certificate of a private table can print, and the tests that fail if it is false."""

from __future__ import annotations

AUDIT = "tests/lab/test_audit_dp_private.py"
MODE = "tests/pipeline/test_private_mode.py"
RELEASE = "tests/jobs/test_private_release.py"
WORDS = "tests/publication/test_private_words.py"
FIRST_PAGE = "tests/publication/test_first_page.py"
BUDGET = "tests/jobs/test_private_budget.py"
PERSONS = "tests/table/test_persons.py"

FALSIFIERS: dict[str, tuple[str, ...]] = {
    r"The synthetic table is \(epsilon, delta\)-differentially private with epsilon = .* beyond that\.": (
        f"{AUDIT}::test_the_true_build_on_the_command_line",
        f"{AUDIT}::test_noise_of_a_half_or_quarter_of_the_deviation_is_refuted",
        f"{AUDIT}::test_one_run_of_140_canaries_notices_epsilon_30_and_missing_noise",
        f"{MODE}::test_account_is_within_the_budget_and_says_every_part",
        f"{WORDS}::test_numbers_of_the_claim_are_those_of_the_configuration",
    ),
    r"The unit is the person: neighbouring tables differ in the presence of one person with all their rows, of which "
    r"(one, drawn at random, is|at most \d+, drawn at random, are) used\.": (
        f"{AUDIT}::test_rows_beyond_the_limit_are_refuted",
        f"{MODE}::test_noise_is_fresh_and_rows_of_a_person_are_limited",
        f"{PERSONS}::test_rows_of_a_person_are_drawn_evenly",
        f"{WORDS}::test_unit_is_the_declared_one",
    ),
    r"The unit is the person: neighbouring tables differ in the presence of one person with their row \(it was "
    r"declared that each row is another person\)\.": (
        f"{MODE}::test_person_must_be_declared",
        f"{WORDS}::test_unit_is_the_declared_one",
    ),
    r"This holds against everyone who sees the table and this account of it, .* random bits of the operating "
    r"system\.": (
        f"{RELEASE}::test_public_folder_is_the_same_for_neighbours_and_for_people_all_unlike",
        f"{MODE}::test_claim_needs_a_secret_seed",
        f"{MODE}::test_noise_comes_from_the_bits_of_the_system_alone",
        "tests/privacy/test_noise.py::test_default_bits_do_not_repeat",
    ),
    r"Names, kinds, bounds and listed values of columns, and all other settings, count as public: .* guaranteed\.": (
        f"{AUDIT}::test_bounds_from_the_records_are_refuted",
        f"{AUDIT}::test_levels_from_the_records_are_refuted",
        f"{MODE}::test_columns_without_bounds_are_named_before_the_run",
    ),
    r"It does not cover the verdict, nor the decisions .* these read real records\.": (
        f"{RELEASE}::test_verdicts_differed_and_nothing_of_them_is_public",
    ),
    r"It does not cover the figures of evaluation and report in the operator's folder, .* how long a run works\.": (
        f"{RELEASE}::test_verdicts_differed_and_nothing_of_them_is_public",
        f"{MODE}::test_whether_a_run_works_depends_on_one_person",
    ),
    r"A further draw from the same people, published or not, has a budget of its own, and the budgets add up: the "
    r"operator's ledger keeps the sum\.": (
        f"{BUDGET}::test_each_draw_pays_and_the_next_is_refused_before_it_reads",
        f"{BUDGET}::test_refused_failed_and_interrupted_draws_have_paid",
        f"{BUDGET}::test_other_name_file_or_unit_is_no_way_around",
    ),
    r"The account in rho of zero-concentrated differential privacy: .*; together [^(]*, which is delta = .*\.": (
        f"{WORDS}::test_account_states_every_part_and_the_delta_of_searches_only_if_there_is_one",
        f"{AUDIT}::test_a_marginal_that_is_not_paid_is_refuted",
        f"{AUDIT}::test_number_of_rows_that_is_not_paid_is_refuted",
        f"{AUDIT}::test_choice_of_twice_the_epsilon_is_refuted",
        "tests/privacy/test_accounting.py::test_delta_is_never_below_that_of_the_gaussian_mechanism",
    ),
    r"The account in rho of zero-concentrated differential privacy: .* \(and delta .* for categories that noisy counts "
    r"of persons found\), which is delta = .*\.": (
        f"{WORDS}::test_account_states_every_part_and_the_delta_of_searches_only_if_there_is_one",
        f"{AUDIT}::test_a_category_of_one_person_that_is_always_kept_is_refuted",
        "tests/privacy/test_find.py::test_threshold_is_passed_by_a_single_person_less_often_than_delta",
    ),
    r"Published by decision of .*, who answers for the policy .*\.": (
        f"{WORDS}::test_first_page_counts_released_rows_alone_and_names_who_decided",
        f"{RELEASE}::test_certificate_states_account_and_decision",
    ),
    r"The decision read real records, and the guarantee does not cover it\.": (
        f"{RELEASE}::test_verdicts_differed_and_nothing_of_them_is_public",
    ),
    r"The table has (about )?[\d,]+ rows and \d+ columns?\.": (
        f"{WORDS}::test_first_page_counts_released_rows_alone_and_names_who_decided",
    ),
    r"It was made on \d{4}-\d\d-\d\d under the name .*\.": (f"{FIRST_PAGE}::test_table_and_decisions_are_said",),
    r"The limits are those of the policy .*\.": (f"{FIRST_PAGE}::test_table_and_decisions_are_said",),
    r"Its owner: .*\.": (f"{FIRST_PAGE}::test_table_and_decisions_are_said",),
    r"Nobody has put a name to what each column is\.": (f"{FIRST_PAGE}::test_table_and_decisions_are_said",),
    r"Nothing can be released before that\.": (
        "tests/cli/test_roles.py::test_a_run_without_decided_roles_is_not_published_later",
    ),
    r".* decided on .* what each column is\.": (f"{FIRST_PAGE}::test_table_and_decisions_are_said",),
    r"Columns that name a person were left out: .*\.": (f"{MODE}::test_table_has_declared_values_alone",),
    r"No column is marked as the name or number of a person\.": (
        f"{FIRST_PAGE}::test_identifiers_are_said_as_they_are_written",
    ),
    r"Each row counts as another person\.": (f"{WORDS}::test_unit_is_the_declared_one",),
    r"Of each person (one row counts|at most \d+ rows count), drawn at random\.": (
        f"{WORDS}::test_unit_is_the_declared_one",
        f"{MODE}::test_noise_is_fresh_and_rows_of_a_person_are_limited",
        f"{PERSONS}::test_rows_of_a_person_are_drawn_evenly",
    ),
    r"A program counted values and pairs of values, and put random noise on all that it took from these counts\.": (
        f"{MODE}::test_table_is_a_function_of_noisy_counts_of_values_and_pairs",
        f"{AUDIT}::test_noise_of_a_half_or_quarter_of_the_deviation_is_refuted",
        f"{AUDIT}::test_choice_of_twice_the_epsilon_is_refuted",
    ),
    r"Every released row was drawn from what it took\.": (
        f"{MODE}::test_table_is_a_function_of_noisy_counts_of_values_and_pairs",
    ),
    r"No row stands for a person\.": (f"{MODE}::test_table_is_a_function_of_noisy_counts_of_values_and_pairs",),
    r"The table is differentially private for each person, with epsilon = .* and delta = .*\.": (
        f"{AUDIT}::test_the_true_build_on_the_command_line",
        f"{RELEASE}::test_run_that_claims_nothing_is_not_published",
        f"{WORDS}::test_first_screens_state_epsilon_and_delta",
    ),
    r"Every row is synthetic: a program drew it, which had learned from records of people\.": (
        f"{MODE}::test_table_is_a_function_of_noisy_counts_of_values_and_pairs",
        "tests/publication/test_nature.py::test_rows_are_called_synthetic_where_a_generator_drew_them",
    ),
    r"Whether any one person was in the data or not, this table was almost as likely to come out\.": (
        f"{AUDIT}::test_the_true_build_on_the_command_line",
        f"{AUDIT}::test_one_run_of_140_canaries_notices_epsilon_30_and_missing_noise",
    ),
    r"The chance of it changes by a factor of at most .*, and by .* beyond that\.": (
        f"{WORDS}::test_first_screens_state_epsilon_and_delta",
        f"{AUDIT}::test_noise_of_a_half_or_quarter_of_the_deviation_is_refuted",
    ),
    r"Attacks on this table, where any were made, and their results are not published\.": (
        f"{RELEASE}::test_certificate_states_account_and_decision",
        f"{RELEASE}::test_verdicts_differed_and_nothing_of_them_is_public",
    ),
    r"How close this table is to its source is not published: real records would decide such a figure\.": (
        f"{RELEASE}::test_verdicts_differed_and_nothing_of_them_is_public",
    ),
    r"withheld: it repeats who was kept apart, which rows of a person were used and all else but the noise, and the "
    r"guarantee needs it secret": (
        f"{MODE}::test_noise_comes_from_the_bits_of_the_system_alone",
        f"{MODE}::test_claim_needs_a_secret_seed",
    ),
    r"withheld: equal tags of two releases would tell that no record had changed in between": (
        f"{RELEASE}::test_tags_are_in_the_ledger_alone",
        f"{RELEASE}::test_public_folder_is_the_same_for_neighbours_and_for_people_all_unlike",
    ),
    r"person: .*": (f"{WORDS}::test_unit_of_the_account_names_the_columns",),
    r"each row is another person": (f"{WORDS}::test_unit_of_the_account_names_the_columns",),
}
"""Patterns of sentences, each with the tests that fail if it is false."""
