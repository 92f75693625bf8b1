"""Every sentence that guarantee and protection can print without a differentially private mode, and its falsifiers."""

from __future__ import annotations

from tests.publication.falsifiers import Falsifiers

ANONYMIZE = "tests/anonymize/test_anonymize_table.py"
GLOBAL = "tests/anonymize/test_global_recoding.py"
LOCAL = "tests/anonymize/test_local_recoding.py"
VERIFIED = "tests/anonymize/test_verification.py"
COARSER = "tests/anonymize/test_coarser_labels.py"
LEFT_OUT = "tests/anonymize/test_left_out.py"
MASKED = "tests/anonymize/test_techniques.py"
VALUES = "tests/anonymize/test_values.py"
MINIMALITY = "tests/anonymize/test_minimality.py"
PEOPLE = "tests/anonymize/test_persons.py"
WAREHOUSE = "tests/jobs/test_warehouse_run.py"
PERSONS = "tests/jobs/test_persons.py"
HOUSEHOLDS = "tests/jobs/test_households.py"
SURROGATES = "tests/table/test_surrogates_and_hashes.py"
SAMPLE = "tests/sample/test_sample.py"
SAMPLED_FIRST = "tests/pipeline/test_sampled_first.py"
SAMPLED_LABELS = "tests/pipeline/test_sampled_labels.py"
STEPS = "tests/pipeline/test_techniques.py"
DRAWN_PERSONS = "tests/pipeline/test_synthetic_persons.py"
LINKED = "tests/pipeline/tables/test_run.py"
EVENTS = "tests/pipeline/tables/test_event_labels.py"
RULES = "tests/pipeline/test_constraints.py"
HELD = "tests/constraints/test_hold.py"
KINDS = "tests/constraints/test_kinds.py"
CONDITIONS = "tests/pipeline/test_conditions.py"
OF_LINKED = "tests/pipeline/tables/test_conditions.py"
FURTHER = "tests/jobs/test_sample_run.py"
FILTER = "tests/pipeline/test_filter.py"
PROTECT = "tests/protect/test_protect.py"
CANARIES = "tests/protect/test_canaries.py"
BELOW = "tests/protect/test_below_labels.py"
STRATEGIES = "tests/transition/test_every_strategy.py"
KNOWN = "tests/transition/test_known_values.py"
ORIGINAL = "tests/transition/test_original.py"
DISCLOSED = "tests/transition/test_disclosure.py"
EVALUATED = "tests/evaluation/test_run.py"
GUARANTEE = "tests/publication/test_guarantee.py"
FIRST_PAGE = "tests/publication/test_first_page.py"
KEPT_MODEL = "tests/pipeline/test_kept_model.py"
IN_PARTS = "tests/pipeline/test_in_parts.py"

EVERY_CLASS = (
    f"{GLOBAL}::test_optimum_under_k_anonymity",
    f"{LOCAL}::test_every_class_holds_and_every_label_covers",
    f"{PEOPLE}::test_no_class_has_fewer_than_k_persons",
    f"{MASKED}::test_groups_have_k_persons_who_are_equal",
    f"{PERSONS}::test_every_stage_keeps_the_rows_of_a_person_together",
)
"""Classes of the anonymized table are counted again."""
MODELS_HOLD = (
    f"{VERIFIED}::test_search_and_verification_agree_with_the_definitions",
    f"{PEOPLE}::test_local_recoding_meets_every_model_in_persons",
    f"{HOUSEHOLDS}::test_every_class_has_people_of_as_many_households_as_asked_for",
)
CHECKED_AGAIN = (
    f"{ANONYMIZE}::test_a_broken_promise_stops_the_run",
    f"{VERIFIED}::test_a_broken_class_size_is_found_out",
    f"{MASKED}::test_results_that_break_their_promise_are_refused",
)
SUPPRESSED = (
    f"{SAMPLED_FIRST}::test_classes_are_counted_in_the_sample_and_small_ones_left_out",
    f"{MASKED}::test_suppression_leaves_out_small_classes_and_nothing_else",
    f"{LEFT_OUT}::test_exact_counts_stay_in_the_house",
)
LOST = (
    f"{LEFT_OUT}::test_people_are_counted_once",
    f"{PEOPLE}::test_one_patient_with_many_rows_is_no_crowd",
)
IN_THE_WAREHOUSE = (
    f"{WAREHOUSE}::test_all_rows_drawn_are_those_with_labels_in_memory",
    f"{WAREHOUSE}::test_persons_come_whole_and_have_k_others_in_the_whole_table",
    "tests/anonymize/test_warehouse.py::test_as_in_memory",
)
CAME_OUT = (
    f"{WAREHOUSE}::test_from_the_command_line_to_a_release",
    f"{WAREHOUSE}::test_persons_come_whole_and_have_k_others_in_the_whole_table",
)
NOT_THE_ROWS = (f"{DISCLOSED}::test_single_keeps_k_and_conditional_does_not",)
OTHER_COLUMNS = (
    f"{VALUES}::test_columns_that_no_step_masks_stay_as_they_are",
    f"{STRATEGIES}::test_values_generalize_back_and_nothing_else_changes",
)
READS_ORIGINALS = (
    f"{STRATEGIES}::test_originals_decide_exactly_where_the_strategy_says_so",
    f"{DISCLOSED}::test_who_reads_originals",
)
DRAWN_AS_SAID = (f"{GUARANTEE}::test_the_sentence_about_sampling_is_true",)
BETA = (*DRAWN_AS_SAID, f"{SAMPLE}::test_beta_is_binomial")
SIMPLE = (*DRAWN_AS_SAID, f"{SAMPLE}::test_simple_is_exact_and_every_record_is_as_likely")
STRATA = (*DRAWN_AS_SAID, f"{SAMPLE}::test_stratified_by_class_proportional_is_within_one_of_every_quota")
LEAST = (*DRAWN_AS_SAID, f"{SAMPLE}::test_stratified_by_columns_keeps_a_minimum")
FIRST = (f"{SAMPLED_FIRST}::test_classes_are_counted_in_the_sample_and_small_ones_left_out",)
LABELS_BELOW = (
    f"{EVENTS}::test_k_persons_share_the_labels_of_each_row_and_of_all_rows_above",
    f"{EVENTS}::test_every_class_of_any_table_has_k_persons",
    f"{EVENTS}::test_every_label_covers_its_value_and_what_is_left_out_is_counted",
)
ONE_PERSON = (
    f"{DRAWN_PERSONS}::test_people_come_out",
    f"{SURROGATES}::test_rows_of_a_synthetic_person_share_the_surrogates_of_a_person",
    f"{PERSONS}::test_a_release_speaks_of_persons",
)
ADJACENT = (
    f"{DRAWN_PERSONS}::test_people_come_out",
    "tests/synthesize/test_sequences.py::test_rows_of_a_person_are_adjacent_and_in_order",
    f"{SAMPLED_FIRST}::test_without_identifiers_no_row_has_a_person_number",
)
SINGLE_ROWS = (f"{PERSONS}::test_rows_that_no_generator_drew_are_not_linked",)
NO_NUMBER = (f"{SAMPLED_FIRST}::test_without_identifiers_no_row_has_a_person_number",)
BY_KEYS = (
    f"{LINKED}::test_references_lead_to_rows_and_keys_are_made_up",
    f"{LINKED}::test_people_sampled_first_are_k_anonymous_among_themselves_and_bring_their_rows",
)
NO_ROW_BREAKS_ONE = (
    f"{RULES}::test_no_row_breaks_a_constraint",
    f"{HELD}::test_rows_that_keep_the_rules_stay_and_of_all_others_few_columns_change",
    f"{HELD}::test_rows_that_no_values_repair_are_thrown_out_and_counted",
)
RARE_VALUES = (
    f"{PROTECT}::test_invariants",
    f"{PROTECT}::test_bounds_are_the_values_of_the_fifth_person_from_each_end",
    f"{PROTECT}::test_a_value_of_one_person_with_many_records_is_rare",
    f"{CANARIES}::test_no_planted_value_comes_out",
)
BELOW_LABELS = (
    f"{BELOW}::test_every_value_stays_below_its_label_and_none_of_few_people_is_left",
    f"{BELOW}::test_labels_of_a_run_are_those_of_the_true_values",
    f"{BELOW}::test_protection_leaves_quasi_identifiers_alone_and_others_as_before",
)
MET = (
    f"{FURTHER}::test_a_draw_under_a_condition_is_a_run_of_its_own",
    "tests/constraints/test_condition.py::test_persons_are_drawn_until_enough_meet_the_condition_and_keep_the_rules",
)
MET_BY_PERSONS = (f"{OF_LINKED}::test_persons_who_meet_it_come_with_their_rows_in_all_tables",)
COMPARED = (f"{CONDITIONS}::test_fidelity_compares_with_those_who_meet_it_and_privacy_asks_about_all",)
BALANCED = (
    f"{FURTHER}::test_a_balanced_draw_is_a_run_of_its_own",
    f"{CONDITIONS}::test_each_value_of_a_balanced_column_has_the_same_share_and_rare_ones_none",
)
FILES_OF_A_RELEASE = ("tests/publication/test_publish.py::test_a_release_is_whole_and_read_only",)
LOOK_ALIKE = (f"{STEPS}::test_a_run_without_hierarchies_gives_values_that_k_records_share",)
CLAIMED = (
    "tests/lab/test_audit_dp_generators.py::test_halved_noise_of_its_counts_is_refuted",
    "tests/lab/test_audit_dp.py::test_records_that_are_not_sampled_are_noticed",
    "tests/lab/test_audit_dp.py::test_values_of_the_records_are_noticed",
    "tests/pipeline/test_amplification.py::test_every_pair_of_small_tables_is_within_the_guarantee",
    f"{SAMPLED_LABELS}::test_each_condition_alone_voids_the_statement",
)

FALSIFIERS: Falsifiers = {
    # Anonymization
    r"Nothing was anonymized: .* no other formal guarantee\.": (f"{CANARIES}::test_without_protection_they_come_out",),
    r"The intermediate table has no k-anonymity: .* single out a record\.": (
        f"{VALUES}::test_steps_of_values_run_together_and_promise_nothing",
        f"{MASKED}::test_a_combination_is_k_anonymous_only_where_one_step_masks_all",
    ),
    r"(About [\d,]+|Fewer than 10) of .* records were suppressed\.": SUPPRESSED,
    r"All other columns are not masked, and the published rows themselves carry no formal guarantee\.": (
        *OTHER_COLUMNS,
        *NOT_THE_ROWS,
    ),
    r"The intermediate table has k-anonymity with k = \d+.* on the quasi-identifiers( \(checked again on the finished "
    r"table\))?: its smallest class has [\d,]+ records, and .* records were suppressed\.": (
        *EVERY_CLASS,
        *MODELS_HOLD,
        *CHECKED_AGAIN,
        *SUPPRESSED,
    ),
    r"The intermediate table has k-anonymity with k = .*; k counts persons, for attackers who know (one row|\d+ rows) "
    r"of each\.": (
        *EVERY_CLASS,
        *MODELS_HOLD,
        *LOST,
        f"{PEOPLE}::test_two_known_rows_by_brute_force",
        f"{PEOPLE}::test_the_verifier_counts_persons_itself",
    ),
    r"The intermediate table, which stayed in its warehouse with all records, has k-anonymity .* \(counted again there "
    r"by queries on all of its rows\): .*\.": IN_THE_WAREHOUSE,
    r"Of the records that were not suppressed, about .* were drawn at random and came out: .* for so many records\.": (
        *CAME_OUT,
        f"{WAREHOUSE}::test_no_one_can_tell_who_was_drawn_without_the_key",
        "tests/anonymize/test_warehouse.py::test_engines_draw_the_same_sample",
    ),
    r"Each combination of their labels is one that at least \d+ (records|persons) of the whole table have; .* single "
    r"one\.": (f"{WAREHOUSE}::test_persons_come_whole_and_have_k_others_in_the_whole_table",),
    r"The levels were chosen on all records, none kept apart: .* was not measured\.": (
        f"{WAREHOUSE}::test_all_rows_drawn_are_those_with_labels_in_memory",
    ),
    r"Instead of being left out, .* records have coarser labels than the others, .* by the transition\.": (
        f"{COARSER}::test_the_left_over_get_a_class_of_their_own_and_the_others_keep_their_labels",
        f"{COARSER}::test_k_holds_for_every_table_and_nobody_is_lost",
        f"{COARSER}::test_values_that_only_the_left_over_have_come_out_of_no_transition",
    ),
    r"Estimated from the sampling weights, .* \(Benedetti and Franconi\)\.": (
        "tests/anonymize/test_population_risk.py::test_the_formula_is_the_expectation",
        "tests/anonymize/test_population_risk.py::test_persons_count_once_with_their_mean_weight",
        "tests/jobs/test_weights.py::test_the_risk_in_the_population_is_said",
    ),
    r"Of .* households, the probability that at least one member is recognized .*\.": (
        "tests/anonymize/test_households.py::test_against_a_loop",
        f"{HOUSEHOLDS}::test_the_risk_is_measured_and_rounded_for_the_public",
    ),
    r"This holds for the (generalized|masked) quasi-identifiers of that table and for nothing else: .* not "
    r"k-anonymous\.": (*OTHER_COLUMNS, *NOT_THE_ROWS),
    r"Its labels were chosen by a search for little generalization, .* \(minimality attack, downcoding\)\.": (
        f"{MINIMALITY}::test_minimality_attack",
        f"{MINIMALITY}::test_downcoding",
        f"{MINIMALITY}::test_fixed_levels_prevent_the_minimality_attack",
        f"{MINIMALITY}::test_fixed_levels_prevent_downcoding",
    ),
    r"The intermediate table is that of .*; the other tables about people .* were learned from\.": (
        f"{LINKED}::test_people_sampled_first_are_k_anonymous_among_themselves_and_bring_their_rows",
        "tests/pipeline/tables/test_compare.py::test_labels_of_the_person_table_alone",
    ),
    r"The intermediate table is that of .*; of the other tables about people, .* alone (has|have) .* learned from\.": (
        f"{EVENTS}::test_sampled_people_bring_their_rows",
        f"{EVENTS}::test_other_configurations_are_as_before",
    ),
    r"At most .* (records|people, with all of their rows,) were drawn at random from the source, and nothing was "
    r"learned from others\.": (
        "tests/pipeline/tables/test_read_people.py::test_the_people_are_read_with_all_of_their_rows_and_no_other",
    ),
    r"In .* were generalized: every row that was not suppressed has, .* at least \d+ persons \(checked again on the "
    r"finished table\); .* rows were suppressed, and with them all rows of .* persons who have any\.": LABELS_BELOW,
    r"(Two|Three) rows of a person in .*, and the number of rows .*: k-anonymity of whole histories is not "
    r"promised\.": (
        f"{EVENTS}::test_two_known_rows_are_shared_by_k_persons",
        f"{EVENTS}::test_two_rows_of_a_person_can_be_those_of_one_person_alone",
    ),
    # Techniques
    r"A step of the anonymization is unknown to this version, so nothing is promised for it\.": (
        f"{STEPS}::test_unknown_techniques_promise_nothing",
        f"{MASKED}::test_a_result_is_read_back_and_an_unknown_promise_is_none",
    ),
    r".* were generalized to labels of their hierarchies\.": (
        f"{LOCAL}::test_every_class_holds_and_every_label_covers",
        f"{STRATEGIES}::test_values_generalize_back_and_nothing_else_changes",
    ),
    r"Records whose combination of .* too few others share were left out; .* fixed beforehand\.": (
        f"{MASKED}::test_suppression_leaves_out_small_classes_and_nothing_else",
    ),
    r".* were microaggregated: similar records were grouped \(MDAV.*\), and every record .* those of its group\.": (
        f"{MASKED}::test_mdav_is_that_of_the_paper",
        f"{MASKED}::test_values_of_a_group_by_hand",
        f"{MASKED}::test_strata_bound_the_distance_of_every_group",
        f"{MASKED}::test_large_tables_are_cut_and_the_number_of_parts_is_stated",
    ),
    r"Both ends of .* were coded: .* of at least (\d+|k \(anonymize\.k\)) persons each\.": (
        f"{VALUES}::test_both_ends_are_those_of_k_persons",
    ),
    r".*: too few persons have a value for that, and all values were removed\.": (
        f"{VALUES}::test_coding_says_how_many_persons_and_what_it_removed",
    ),
    r"All values in between stay as they are, and it is no k-anonymity\.": (
        f"{VALUES}::test_both_ends_are_those_of_k_persons",
    ),
    r"Values of .* were exchanged between records of similar rank \(.*\), .* stayed missing\.": (
        f"{VALUES}::test_swapped_values_are_the_same_and_near",
        f"{VALUES}::test_swapping_moves_nearly_all_values_and_far_moves_are_noticed",
    ),
    r"Of the known values so many became others: .*; the rest stayed as they were\.": (
        f"{VALUES}::test_sentences_say_how_many_values_stayed",
    ),
    r"All values are those of real records; .* it is no k-anonymity\.": (
        f"{VALUES}::test_swapped_values_are_the_same_and_near",
    ),
    r"Values of .* were moved by normal noise \(.*\) and rounded as they are written; .*\.": (
        f"{VALUES}::test_noise_has_the_stated_strength_and_correlation",
    ),
    r"Values of .* were multiplied by random factors \(.*\) and rounded as they are written; .*\.": (
        f"{VALUES}::test_factors_have_mean_one_and_limits_hold",
    ),
    r"Values of .* beyond stated limits became these\.": (f"{VALUES}::test_factors_have_mean_one_and_limits_hold",),
    r"That makes a value uncertain by as much as the noise is strong; .* no k-anonymity\.": (
        f"{VALUES}::test_noise_has_the_stated_strength_and_correlation",
        f"{VALUES}::test_steps_of_values_run_together_and_promise_nothing",
    ),
    r".* were post-randomized \(PRAM\): each value was replaced at random by matrices made so .*\.": (
        f"{VALUES}::test_an_invariant_matrix_keeps_the_expected_counts",
        f"{VALUES}::test_missing_values_void_the_local_epsilon_and_stay_missing",
    ),
    r".* were post-randomized \(PRAM\): each value was replaced at random by the stated matrices, .*\.": (
        f"{VALUES}::test_pram_draws_by_its_matrix_and_says_so_if_it_drew_otherwise",
        f"{VALUES}::test_missing_values_void_the_local_epsilon_and_stay_missing",
    ),
    r"That makes a single value uncertain, .* no k-anonymity\.": (
        f"{VALUES}::test_matrices_that_give_a_value_away_are_refused",
        f"{VALUES}::test_steps_of_values_run_together_and_promise_nothing",
    ),
    r"In that table each value of .* satisfies local differential privacy .* add up\.": (
        f"{VALUES}::test_pram_by_hand",
        f"{VALUES}::test_pram_draws_by_its_matrix_and_says_so_if_it_drew_otherwise",
        f"{VALUES}::test_missing_values_void_the_local_epsilon_and_stay_missing",
    ),
    # Transition
    r"The records that were not suppressed were learned with the values they had before anonymization, .*\.": (
        f"{ORIGINAL}::test_every_kept_record_is_itself_again",
        *READS_ORIGINALS,
    ),
    r"Values were put back in place of (generalized|masked|generalized or masked) ones by the method .*, whose "
    r"distributions are estimated on the original records, .*\.": READS_ORIGINALS,
    r"Values were put back in place of generalized ones by the method .*, which reads no original value beyond its "
    r"domain: .*\.": (
        *READS_ORIGINALS,
        f"{KNOWN}::test_only_own_values_come_out_and_the_others_decide_nothing",
        f"{KNOWN}::test_no_run_publishes_a_value_that_only_others_have",
    ),
    r"Masked values were kept as they are \(method .*\)\.": (
        f"{MASKED}::test_transitions_keep_or_draw_among_members",
        *LOOK_ALIKE,
    ),
    # Constraints, conditions, margins, filter
    r"Rows that broke a declared constraint between columns were (left out|drawn again)\.": NO_ROW_BREAKS_ONE,
    r"Rows that broke a declared constraint between columns were .*; which values may occur together was learned from "
    r"the original records\.": (
        *NO_ROW_BREAKS_ONE,
        f"{KINDS}::test_combinations_that_the_source_never_has_are_broken",
    ),
    r"Rows that broke (a rule|one of \d+ rules) between columns were (left out|drawn again)\.": NO_ROW_BREAKS_ONE,
    r"The values of .* were given shares \(synthesize\.balance\), .*\.": (*BALANCED, *COMPARED),
    r"The values of .* were given other shares than real people have\.": BALANCED,
    r"Only rows that meet a condition, .*\.": (
        "tests/constraints/test_condition.py::"
        "test_persons_are_drawn_until_enough_meet_the_condition_and_keep_the_rules",
        *COMPARED,
    ),
    r"Only synthetic persons with a row that meets a condition, .*\.": (*MET, *COMPARED),
    r"Only synthetic persons whose row in .* meets a condition, .*\.": (
        *MET_BY_PERSONS,
        f"{OF_LINKED}::test_utility_compares_with_those_who_meet_it",
    ),
    r"Only made-up (rows that meet|people with a row that meets) a condition were kept: .*\.": MET,
    r"Only made-up people whose row in .* meets a condition were kept: .*\.": MET_BY_PERSONS,
    r"Sampling weights were raked to published totals of .* by more than .* %\.": (
        "tests/pipeline/test_published_totals.py::test_weighted_totals_of_the_released_table_are_the_published_ones",
        "tests/pipeline/test_published_totals.py::test_a_deviation_by_hand",
    ),
    r"Drawn rows that lie near an original record .* were left out: .*\.": (
        f"{FILTER}::test_copies_are_left_out_and_fresh_rows_stay",
        f"{FILTER}::test_a_fine_filter_makes_no_void_and_a_coarse_one_is_judged_on_its_other_side",
    ),
    r"Drawn rows that lie near an original record .* were replaced by further draws: .*\.": (
        f"{FILTER}::test_rows_are_drawn_again_until_there_are_enough",
        f"{FILTER}::test_a_fine_filter_makes_no_void_and_a_coarse_one_is_judged_on_its_other_side",
    ),
    r"Drawn persons whose row in .* lies near an original record .*\.": (
        f"{OF_LINKED}::test_persons_near_a_real_one_are_left_out_with_their_rows",
    ),
    r"Half of the control records served the filter, and the table was measured by the other half\.": (
        f"{FILTER}::test_each_person_of_control_is_on_one_side",
        f"{FILTER}::test_the_filter_is_a_stage_with_its_own_key",
    ),
    # Protection of values
    r"Values of single people were not protected\.": (f"{CANARIES}::test_without_protection_they_come_out",),
    r"Before anything was learned, categories that fewer than \d+ (persons|training records) hold .*\.": RARE_VALUES,
    r"Before anything was learned, categories that fewer than \d+ training households hold .*\.": (
        "tests/pipeline/tables/test_households.py::test_what_only_one_household_has_is_replaced_in_every_table",
        *RARE_VALUES,
    ),
    r"Quasi-identifiers were made coarser with their true values, .* below the same label\.": BELOW_LABELS,
    r"Values that fewer than \d+ people have were replaced in .*\.": RARE_VALUES,
    r".*: made coarser as they are\.": BELOW_LABELS,
    r"Exact values that fewer than \d+ people have were then written as a group .* of the same group\.": BELOW_LABELS,
    r"Left as they are, so that real values can come out: .*\.": (
        f"{FIRST_PAGE}::test_columns_whose_values_no_step_changed_are_those_left_as_they_are",
    ),
    r"No column was left as it is\.": (
        f"{FIRST_PAGE}::test_columns_whose_values_no_step_changed_are_those_left_as_they_are",
        f"{CANARIES}::test_no_planted_value_comes_out",
    ),
    # Persons and identifiers
    r"No column is marked as the name or number of a person\.": (
        f"{FIRST_PAGE}::test_columns_whose_values_no_step_changed_are_those_left_as_they_are",
    ),
    r"Columns that name a person were left out: .*\.": NO_NUMBER,
    r"Columns that name a person hold made-up values: .*\.": (
        f"{SURROGATES}::test_surrogates",
        f"{WAREHOUSE}::test_no_surrogate_is_an_identifier_of_a_row_that_stayed_there",
    ),
    r"Persons had several records, and no published row is linked to another: each has a person number of its "
    r"own\.": SINGLE_ROWS,
    r"Persons had several records, and no published row is linked to another: none has a person number\.": NO_NUMBER,
    r"Persons had several records, and the published table holds synthetic persons: rows with the same person number "
    r".*\.": ONE_PERSON,
    r"Persons had several records, and the published table holds synthetic persons: the rows of each .*\.": ADJACENT,
    r"The published tables hold synthetic persons: rows that are linked by their keys .*\.": BY_KEYS,
    r"Persons had households, and no published persons are linked as one\.": (
        f"{SURROGATES}::test_drawn_persons_share_no_household",
        "tests/pipeline/tables/test_households.py::test_every_class_has_people_of_as_many_households_as_asked_for",
    ),
    r"A person may have several records\.": (f"{PERSONS}::test_every_stage_keeps_the_rows_of_a_person_together",),
    r"Each released row has a person number of its own\.": SINGLE_ROWS,
    r"No released row has a person number\.": NO_NUMBER,
    r"Released rows with the same person number are those of one made-up person\.": ONE_PERSON,
    r"The released rows of each made-up person follow one another, without a person number\.": ADJACENT,
    r"Released rows that are linked by their keys are those of one made-up person\.": BY_KEYS,
    # Sample and generator
    r"All (training|drawn)? ?(persons|records)( of the intermediate table)? were used; "
    r"(no generator was trained|the generator was .*)\.": (
        *DRAWN_AS_SAID,
        f"{SAMPLE}::test_none_keeps_everything",
    ),
    r"All drawn records were used but those kept apart as control, and those .* was not verified; .*\.": (
        f"{WAREHOUSE}::test_persons_come_whole_and_have_k_others_in_the_whole_table",
    ),
    r"Each of the .* was used with probability [\d.]+; .*\.": BETA,
    r"Each of the .* was used with probability [\d.]+, before it was anonymized; .*\.": (*BETA, *FIRST),
    r"A random share of .* was used, rounded to whole records.*\.": SIMPLE,
    r"Each of the .* was used within its stratum \(.*\) with probability [\d.]+; .*\.": DRAWN_AS_SAID,
    r"Each of the .* was used within its stratum \(.*\) with probability at least .*\.": LEAST,
    r"Of the .* a random share of .* was used within every stratum \(.*\), rounded to whole records; .*\.": STRATA,
    r"Of the .* a random share of .* was used within every stratum \(.*\), rounded to whole records, and at least "
    r".*\.": LEAST,
    r"All records that remained were used\.": (*DRAWN_AS_SAID, f"{SAMPLE}::test_none_keeps_everything"),
    r"Each (record|person) that remained was used with a chance of .* %\.": BETA,
    r"Each (record|person) was used with a chance of .* %\.": (*BETA, *FIRST),
    r"Of the (records|persons) that remained, .* % were drawn at random and used\.": SIMPLE,
    r"In each group of .*, .* % of the (records|persons) were drawn at random and used\.": STRATA,
    r"In each group of .*, .* % of the (records|persons) were drawn at random and used, but at least .*\.": LEAST,
    r"A program learned from these records, and wrote every released row\.": (
        f"{SAMPLED_FIRST}::test_every_row_is_one_that_the_generator_drew",
        f"{PERSONS}::test_the_generator_learns_whose_the_rows_are",
    ),
    r"No program wrote new rows: each released row stands for one real record\.": (
        f"{SAMPLED_FIRST}::test_classes_are_counted_in_the_sample_and_small_ones_left_out",
    ),
    # Steps in plain words
    r"No column was made coarser\.": (f"{CANARIES}::test_without_protection_they_come_out",),
    r"In .*: made coarser until each row, with the coarse columns of the rows above it, looks like rows of at least "
    r"\d+ people\.": LABELS_BELOW,
    r"(Fewer than 10 rows of .* had to be|About [\d.]+ % of the rows of .* were) left out for that\.": (
        f"{EVENTS}::test_every_label_covers_its_value_and_what_is_left_out_is_counted",
    ),
    r"(Two|Three) rows of a person in .* can still be unlike those of all other people\.": (
        f"{EVENTS}::test_two_known_rows_are_shared_by_k_persons",
        f"{EVENTS}::test_two_rows_of_a_person_can_be_those_of_one_person_alone",
    ),
    r"These columns were made coarser until at least [\d,]+ (records|people) look alike in them: .*\.": EVERY_CLASS,
    r"Single (records|people) stay alone in these columns, coarse as they are: .*\.": (
        *EVERY_CLASS,
        f"{FIRST_PAGE}::test_people_who_are_alone_are_not_said_to_look_alike",
    ),
    r"These columns were changed until at least [\d,]+ (records|people) look alike in them: .*\.": (
        *LOOK_ALIKE,
        f"{MASKED}::test_groups_have_k_persons_who_are_equal",
    ),
    r"Values of these columns were changed, and no groups of people look alike: .*\.": (
        f"{VALUES}::test_steps_of_values_run_together_and_promise_nothing",
    ),
    r"Each group of look-alikes also had to meet a rule about .*\.": MODELS_HOLD,
    r"No record was left out for them\.": (f"{MASKED}::test_groups_have_k_persons_who_are_equal",),
    r"(About .* %|Fewer than 10) (of the )?records (had to be|were) left out, because too few others look like "
    r"them\.": SUPPRESSED,
    r"(About .* %|Fewer than 10) (of the )?people lost all their records\.": LOST,
    r"The coarser columns were chosen and checked in the warehouse, on all of about .* records\.": IN_THE_WAREHOUSE,
    r"Of the (records|people) that remained, about .* % were then drawn at random\.": CAME_OUT,
    r"Only these came out, and all that follows saw these alone\.": CAME_OUT,
    r"Among them fewer may look alike\.": (
        f"{WAREHOUSE}::test_persons_come_whole_and_have_k_others_in_the_whole_table",
    ),
    r"How coarse the columns are was decided with all records, none kept apart\.": (
        f"{WAREHOUSE}::test_all_rows_drawn_are_those_with_labels_in_memory",
    ),
    r"The real values then took the place of the coarse ones\.": (
        f"{ORIGINAL}::test_every_kept_record_is_itself_again",
    ),
    r"Exact values were then drawn for the (coarse|changed) ones\.": (
        f"{STRATEGIES}::test_values_generalize_back_and_nothing_else_changes",
        f"{MASKED}::test_transitions_keep_or_draw_among_members",
    ),
    r"The draw follows the real values\.": READS_ORIGINALS,
    r"The draw does not look at the real values\.": READS_ORIGINALS,
    r"The draw looks at the real values only to see which of them occur together\.": (
        *READS_ORIGINALS,
        f"{RULES}::test_restored_rows_keep_the_constraints_within_their_labels",
        f"{RULES}::test_a_combination_of_few_people_does_not_come_out",
    ),
    r"The changed values were then used as they are\.": LOOK_ALIKE,
    # Claims
    r"The groups of look-alikes are proven for the (coarse|changed) table\.": (*EVERY_CLASS, *CHECKED_AGAIN),
    r"They are not proven for the released rows\.": NOT_THE_ROWS,
    r"Nothing is proven about the released rows\.": (
        *NOT_THE_ROWS,
        f"{CANARIES}::test_without_protection_they_come_out",
    ),
    r"Differential privacy is claimed for the (synthetic table, as the explanation says|released rows)\.": CLAIMED,
    r"The terms are in the details\.": (f"{SAMPLED_LABELS}::test_explains_what_holds",),
    r"No differential privacy is claimed\.": (
        f"{STEPS}::test_local_privacy_of_a_step_is_the_only_one_claimed",
        f"{FILTER}::test_no_budget_is_claimed_behind_a_filter",
        "tests/pipeline/test_noisy_values.py::test_each_condition_alone_voids_it",
    ),
    r"Beyond that, no differential privacy is claimed, and none for the published rows\.": (
        f"{STEPS}::test_local_privacy_of_a_step_is_the_only_one_claimed",
    ),
    # Measurements
    r"Privacy was measured empirically by .*; an attack that is not listed was not tried\.": (
        f"{GUARANTEE}::test_attacks_are_named_that_ran_and_no_others",
    ),
    r"No attack on the published table was measured\.": (
        f"{GUARANTEE}::test_attacks_are_named_that_ran_and_no_others",
    ),
    r"Not computable: .*\.": (
        f"{GUARANTEE}::test_attacks_are_named_that_ran_and_no_others",
        f"{EVALUATED}::test_without_control_what_needs_one_says_so",
    ),
    r"The run keeps its trained model, .*: whoever holds it, .* where 0\.5 is guessing\.": (
        f"{KEPT_MODEL}::test_who_is_known_by_a_model_is_found",
        f"{KEPT_MODEL}::test_a_run_whose_store_keeps_the_model_says_what_it_gives_away",
        f"{KEPT_MODEL}::test_a_run_without_a_store_keeps_no_model",
        *FILES_OF_A_RELEASE,
    ),
    r"The run keeps its trained model, .* was not tried \(.*\)\.": (
        f"{KEPT_MODEL}::test_what_cannot_be_asked_has_a_reason",
        f"{KEPT_MODEL}::test_a_run_without_a_store_keeps_no_model",
        *FILES_OF_A_RELEASE,
    ),
    r"Measured were [\d,]+ of the [\d,]+ rows, drawn at random; .* was not measured\.": (
        f"{IN_PARTS}::test_repeats_are_counted_on_all_rows_not_on_the_sample",
        f"{IN_PARTS}::test_every_row_is_written_and_each_part_gives_its_share_of_the_sample",
        f"{IN_PARTS}::test_a_run_in_parts",
    ),
    r"Attacks were measured on \d+ further tables made the same way, .* was measured on it\.": (
        "tests/table/test_split.py::test_everybody_is_control_of_exactly_one_fold",
        "tests/evaluation/test_pooled.py::"
        "test_folds_measure_what_compares_with_people_never_seen_and_the_released_table_all_else",
        "tests/pipeline/test_measured_together.py::test_folds_measure_the_stages_that_the_rules_are_about",
    ),
}
"""Patterns of sentences, each with the tests that fail if it is false."""
