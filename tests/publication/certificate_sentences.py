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
    "crossed.measured": (
        "tests/table/test_split.py::test_everybody_is_control_of_exactly_one_fold",
        "tests/evaluation/test_pooled.py::"
        "test_folds_measure_what_compares_with_people_never_seen_and_the_released_table_all_else",
        "tests/pipeline/test_measured_together.py::test_folds_measure_the_stages_that_the_rules_are_about",
    ),
    "named.left_out": NO_NUMBER,
    "named.made_up": (
        f"{SURROGATES}::test_surrogates",
        f"{WAREHOUSE}::test_no_surrogate_is_an_identifier_of_a_row_that_stayed_there",
    ),
    "guarantee.nothing": (f"{CANARIES}::test_without_protection_they_come_out",),
    "guarantee.unknown": (
        f"{STEPS}::test_unknown_techniques_promise_nothing",
        f"{MASKED}::test_a_result_is_read_back_and_an_unknown_promise_is_none",
    ),
    "guarantee.not_together": (
        f"{VALUES}::test_steps_of_values_run_together_and_promise_nothing",
        f"{MASKED}::test_a_combination_is_k_anonymous_only_where_one_step_masks_all",
    ),
    "guarantee.suppressed": SUPPRESSED,
    "guarantee.unmasked": (
        *OTHER_COLUMNS,
        *NOT_THE_ROWS,
    ),
    "guarantee.k": (
        *EVERY_CLASS,
        *CHECKED_AGAIN,
    ),
    "guarantee.k.table.warehouse": IN_THE_WAREHOUSE,
    "guarantee.k.on.warehouse": IN_THE_WAREHOUSE,
    "guarantee.k.records": (
        *EVERY_CLASS,
        *SUPPRESSED,
    ),
    "guarantee.k.persons": (
        *EVERY_CLASS,
        *LOST,
        f"{PEOPLE}::test_two_known_rows_by_brute_force",
        f"{PEOPLE}::test_the_verifier_counts_persons_itself",
    ),
    "guarantee.drawn": (
        *CAME_OUT,
        f"{WAREHOUSE}::test_no_one_can_tell_who_was_drawn_without_the_key",
        "tests/anonymize/test_warehouse.py::test_engines_draw_the_same_sample",
    ),
    "guarantee.drawn.labels": (
        f"{WAREHOUSE}::test_persons_come_whole_and_have_k_others_in_the_whole_table",
        f"{WAREHOUSE}::test_all_rows_drawn_are_those_with_labels_in_memory",
    ),
    "guarantee.coarsened": (
        f"{COARSER}::test_the_left_over_get_a_class_of_their_own_and_the_others_keep_their_labels",
        f"{COARSER}::test_k_holds_for_every_table_and_nobody_is_lost",
        f"{COARSER}::test_values_that_only_the_left_over_have_come_out_of_no_transition",
    ),
    "guarantee.risk": (
        "tests/anonymize/test_population_risk.py::test_the_formula_is_the_expectation",
        "tests/anonymize/test_population_risk.py::test_persons_count_once_with_their_mean_weight",
        "tests/jobs/test_weights.py::test_the_risk_in_the_population_is_said",
    ),
    "guarantee.household": (
        "tests/anonymize/test_households.py::test_against_a_loop",
        f"{HOUSEHOLDS}::test_the_risk_is_measured_and_rounded_for_the_public",
    ),
    "guarantee.only": (
        *OTHER_COLUMNS,
        *NOT_THE_ROWS,
    ),
    "guarantee.searched": (
        f"{MINIMALITY}::test_minimality_attack",
        f"{MINIMALITY}::test_downcoding",
        f"{MINIMALITY}::test_fixed_levels_prevent_the_minimality_attack",
        f"{MINIMALITY}::test_fixed_levels_prevent_downcoding",
    ),
    "guarantee.linked": (
        f"{LINKED}::test_people_sampled_first_are_k_anonymous_among_themselves_and_bring_their_rows",
        "tests/pipeline/tables/test_compare.py::test_labels_of_the_person_table_alone",
    ),
    "guarantee.linked.below": (
        f"{EVENTS}::test_sampled_people_bring_their_rows",
        f"{EVENTS}::test_other_configurations_are_as_before",
    ),
    "guarantee.below": LABELS_BELOW,
    "guarantee.below.several": (
        f"{EVENTS}::test_two_known_rows_are_shared_by_k_persons",
        f"{EVENTS}::test_two_rows_of_a_person_can_be_those_of_one_person_alone",
    ),
    "guarantee.real": (
        f"{ORIGINAL}::test_every_kept_record_is_itself_again",
        *READS_ORIGINALS,
    ),
    "guarantee.of": (
        f"{ORIGINAL}::test_every_kept_record_is_itself_again",
        *READS_ORIGINALS,
    ),
    "guarantee.put_back": READS_ORIGINALS,
    "guarantee.by_originals": READS_ORIGINALS,
    "guarantee.by_domain": (
        *READS_ORIGINALS,
        f"{KNOWN}::test_only_own_values_come_out_and_the_others_decide_nothing",
        f"{KNOWN}::test_no_run_publishes_a_value_that_only_others_have",
    ),
    "guarantee.masked_stay": (
        f"{MASKED}::test_transitions_keep_or_draw_among_members",
        *LOOK_ALIKE,
    ),
    "guarantee.broken": NO_ROW_BREAKS_ONE,
    "guarantee.broken.drawn_again": (
        *NO_ROW_BREAKS_ONE,
        f"{KINDS}::test_combinations_that_the_source_never_has_are_broken",
    ),
    "guarantee.broken.learned": (
        *NO_ROW_BREAKS_ONE,
        f"{KINDS}::test_combinations_that_the_source_never_has_are_broken",
    ),
    "guarantee.balanced": (
        *BALANCED,
        *COMPARED,
    ),
    "guarantee.where": COMPARED,
    "guarantee.where.rows": MET,
    "guarantee.where.persons": MET,
    "guarantee.where.linked": (
        *MET_BY_PERSONS,
        f"{OF_LINKED}::test_utility_compares_with_those_who_meet_it",
    ),
    "guarantee.near.left_out": (
        f"{FILTER}::test_copies_are_left_out_and_fresh_rows_stay",
        f"{FILTER}::test_a_fine_filter_makes_no_void_and_a_coarse_one_is_judged_on_its_other_side",
        f"{FILTER}::test_each_person_of_control_is_on_one_side",
        f"{FILTER}::test_the_filter_is_a_stage_with_its_own_key",
    ),
    "guarantee.near.drawn_again": (
        f"{FILTER}::test_rows_are_drawn_again_until_there_are_enough",
        f"{FILTER}::test_a_fine_filter_makes_no_void_and_a_coarse_one_is_judged_on_its_other_side",
        f"{FILTER}::test_each_person_of_control_is_on_one_side",
        f"{FILTER}::test_the_filter_is_a_stage_with_its_own_key",
    ),
    "guarantee.near.linked.left_out": (
        f"{OF_LINKED}::test_persons_near_a_real_one_are_left_out_with_their_rows",
        f"{FILTER}::test_each_person_of_control_is_on_one_side",
        f"{FILTER}::test_the_filter_is_a_stage_with_its_own_key",
    ),
    "guarantee.near.linked.drawn_again": (
        f"{OF_LINKED}::test_persons_near_a_real_one_are_left_out_with_their_rows",
        f"{FILTER}::test_each_person_of_control_is_on_one_side",
        f"{FILTER}::test_the_filter_is_a_stage_with_its_own_key",
    ),
    "guarantee.near": (
        f"{FILTER}::test_each_person_of_control_is_on_one_side",
        f"{FILTER}::test_the_filter_is_a_stage_with_its_own_key",
    ),
    "guarantee.raked": (
        "tests/pipeline/test_published_totals.py::test_weighted_totals_of_the_released_table_are_the_published_ones",
        "tests/pipeline/test_published_totals.py::test_a_deviation_by_hand",
    ),
    "guarantee.taken": (
        "tests/pipeline/tables/test_read_people.py::test_the_people_are_read_with_all_of_their_rows_and_no_other",
    ),
    "guarantee.unprotected": (f"{CANARIES}::test_without_protection_they_come_out",),
    "guarantee.protected": (
        *RARE_VALUES,
        "tests/pipeline/tables/test_households.py::test_what_only_one_household_has_is_replaced_in_every_table",
    ),
    "guarantee.protected.but": RARE_VALUES,
    "guarantee.protected.below": BELOW_LABELS,
    "guarantee.rows.numbered": SINGLE_ROWS,
    "guarantee.rows": NO_NUMBER,
    "guarantee.people.numbered": ONE_PERSON,
    "guarantee.people": ADJACENT,
    "guarantee.people.linked": BY_KEYS,
    "guarantee.no_households": (
        f"{SURROGATES}::test_drawn_persons_share_no_household",
        "tests/pipeline/tables/test_households.py::test_every_class_has_people_of_as_many_households_as_asked_for",
    ),
    "guarantee.used.drawn": (f"{WAREHOUSE}::test_persons_come_whole_and_have_k_others_in_the_whole_table",),
    "guarantee.used": (
        *DRAWN_AS_SAID,
        f"{SAMPLE}::test_none_keeps_everything",
    ),
    "guarantee.used.beta": BETA,
    "guarantee.used.simple": SIMPLE,
    "guarantee.used.strata": STRATA,
    "guarantee.used.stratum": DRAWN_AS_SAID,
    "guarantee.used.stratum.least": LEAST,
    "guarantee.used.least": LEAST,
    "guarantee.stratum": STRATA,
    "guarantee.used.first": FIRST,
    "guarantee.trained": (
        *DRAWN_AS_SAID,
        f"{PERSONS}::test_the_generator_learns_whose_the_rows_are",
    ),
    "guarantee.untrained": (f"{SAMPLED_FIRST}::test_classes_are_counted_in_the_sample_and_small_ones_left_out",),
    "guarantee.claim": CLAIMED,
    "guarantee.claim.none": (
        f"{STEPS}::test_local_privacy_of_a_step_is_the_only_one_claimed",
        f"{FILTER}::test_no_budget_is_claimed_behind_a_filter",
        "tests/pipeline/test_noisy_values.py::test_each_condition_alone_voids_it",
    ),
    "guarantee.claim.local": (f"{STEPS}::test_local_privacy_of_a_step_is_the_only_one_claimed",),
    "guarantee.model": (
        f"{KEPT_MODEL}::test_who_is_known_by_a_model_is_found",
        f"{KEPT_MODEL}::test_a_run_whose_store_keeps_the_model_says_what_it_gives_away",
        f"{KEPT_MODEL}::test_a_run_without_a_store_keeps_no_model",
        *FILES_OF_A_RELEASE,
        f"{KEPT_MODEL}::test_what_cannot_be_asked_has_a_reason",
    ),
    "guarantee.model.untried": (
        f"{KEPT_MODEL}::test_what_cannot_be_asked_has_a_reason",
        f"{KEPT_MODEL}::test_a_run_without_a_store_keeps_no_model",
        *FILES_OF_A_RELEASE,
    ),
    "guarantee.measured": (f"{GUARANTEE}::test_attacks_are_named_that_ran_and_no_others",),
    "guarantee.measured.failed": (
        f"{GUARANTEE}::test_attacks_are_named_that_ran_and_no_others",
        f"{EVALUATED}::test_without_control_what_needs_one_says_so",
    ),
    "guarantee.measured.rows": (
        f"{IN_PARTS}::test_repeats_are_counted_on_all_rows_not_on_the_sample",
        f"{IN_PARTS}::test_every_row_is_written_and_each_part_gives_its_share_of_the_sample",
        f"{IN_PARTS}::test_a_run_in_parts",
    ),
    "technique.generalization": (
        f"{LOCAL}::test_every_class_holds_and_every_label_covers",
        f"{STRATEGIES}::test_values_generalize_back_and_nothing_else_changes",
    ),
    "technique.suppression": (f"{MASKED}::test_suppression_leaves_out_small_classes_and_nothing_else",),
    "technique.coding": (f"{VALUES}::test_both_ends_are_those_of_k_persons",),
    "technique.coding.emptied": (f"{VALUES}::test_coding_says_how_many_persons_and_what_it_removed",),
    "technique.microaggregation": (
        f"{MASKED}::test_mdav_is_that_of_the_paper",
        f"{MASKED}::test_values_of_a_group_by_hand",
        f"{MASKED}::test_strata_bound_the_distance_of_every_group",
        f"{MASKED}::test_large_tables_are_cut_and_the_number_of_parts_is_stated",
    ),
    "technique.mdav": (
        f"{MASKED}::test_mdav_is_that_of_the_paper",
        f"{MASKED}::test_values_of_a_group_by_hand",
        f"{MASKED}::test_strata_bound_the_distance_of_every_group",
        f"{MASKED}::test_large_tables_are_cut_and_the_number_of_parts_is_stated",
    ),
    "technique.swapped": (
        f"{VALUES}::test_swapped_values_are_the_same_and_near",
        f"{VALUES}::test_swapping_moves_nearly_all_values_and_far_moves_are_noticed",
    ),
    "technique.swapped.stay": (f"{VALUES}::test_swapped_values_are_the_same_and_near",),
    "technique.noise": (f"{VALUES}::test_noise_has_the_stated_strength_and_correlation",),
    "technique.noise.factors": (f"{VALUES}::test_factors_have_mean_one_and_limits_hold",),
    "technique.noise.limits": (f"{VALUES}::test_factors_have_mean_one_and_limits_hold",),
    "technique.noise.stay": (
        f"{VALUES}::test_noise_has_the_stated_strength_and_correlation",
        f"{VALUES}::test_steps_of_values_run_together_and_promise_nothing",
    ),
    "technique.changed": (f"{VALUES}::test_sentences_say_how_many_values_stayed",),
    "technique.pram": (
        f"{VALUES}::test_pram_draws_by_its_matrix_and_says_so_if_it_drew_otherwise",
        f"{VALUES}::test_missing_values_void_the_local_epsilon_and_stay_missing",
    ),
    "technique.pram.invariant": (
        f"{VALUES}::test_an_invariant_matrix_keeps_the_expected_counts",
        f"{VALUES}::test_missing_values_void_the_local_epsilon_and_stay_missing",
    ),
    "technique.pram.stay": (
        f"{VALUES}::test_matrices_that_give_a_value_away_are_refused",
        f"{VALUES}::test_steps_of_values_run_together_and_promise_nothing",
    ),
    "technique.pram.local": (
        f"{VALUES}::test_pram_by_hand",
        f"{VALUES}::test_pram_draws_by_its_matrix_and_says_so_if_it_drew_otherwise",
        f"{VALUES}::test_missing_values_void_the_local_epsilon_and_stay_missing",
    ),
    "protection.no_identifier": (
        f"{FIRST_PAGE}::test_columns_whose_values_no_step_changed_are_those_left_as_they_are",
    ),
    "protection.rare": RARE_VALUES,
    "protection.below": BELOW_LABELS,
    "protection.warehouse": (
        *IN_THE_WAREHOUSE,
        *CAME_OUT,
        f"{WAREHOUSE}::test_persons_come_whole_and_have_k_others_in_the_whole_table",
        f"{WAREHOUSE}::test_all_rows_drawn_are_those_with_labels_in_memory",
    ),
    "protection.none_coarser": (f"{CANARIES}::test_without_protection_they_come_out",),
    "protection.not_alike": (f"{VALUES}::test_steps_of_values_run_together_and_promise_nothing",),
    "protection.alone": (
        *EVERY_CLASS,
        f"{FIRST_PAGE}::test_people_who_are_alone_are_not_said_to_look_alike",
    ),
    "protection.alike": EVERY_CLASS,
    "protection.alike.changed": (
        *LOOK_ALIKE,
        f"{MASKED}::test_groups_have_k_persons_who_are_equal",
    ),
    "protection.models": MODELS_HOLD,
    "protection.none_left_out": (f"{MASKED}::test_groups_have_k_persons_who_are_equal",),
    "protection.left_out.few": SUPPRESSED,
    "protection.left_out": SUPPRESSED,
    "protection.lost.few": LOST,
    "protection.lost": LOST,
    "protection.events": LABELS_BELOW,
    "protection.events.left_out.few": (f"{EVENTS}::test_every_label_covers_its_value_and_what_is_left_out_is_counted",),
    "protection.events.left_out": (f"{EVENTS}::test_every_label_covers_its_value_and_what_is_left_out_is_counted",),
    "protection.events.several": (
        f"{EVENTS}::test_two_known_rows_are_shared_by_k_persons",
        f"{EVENTS}::test_two_rows_of_a_person_can_be_those_of_one_person_alone",
    ),
    "protection.all_used": (
        *DRAWN_AS_SAID,
        f"{SAMPLE}::test_none_keeps_everything",
    ),
    "protection.beta": (
        *BETA,
        *FIRST,
    ),
    "protection.beta.left": BETA,
    "protection.beta.people.left": BETA,
    "protection.simple": SIMPLE,
    "protection.strata": STRATA,
    "protection.strata.least": LEAST,
    "protection.group": STRATA,
    "protection.person": (f"{PERSONS}::test_every_stage_keeps_the_rows_of_a_person_together",),
    "protection.person.linked": BY_KEYS,
    "protection.person.numbered": ONE_PERSON,
    "protection.person.adjacent": ADJACENT,
    "protection.row.numbered": SINGLE_ROWS,
    "protection.row": NO_NUMBER,
    "protection.real": (f"{ORIGINAL}::test_every_kept_record_is_itself_again",),
    "protection.drawn": (
        f"{STRATEGIES}::test_values_generalize_back_and_nothing_else_changes",
        f"{MASKED}::test_transitions_keep_or_draw_among_members",
    ),
    "protection.draw.follows": READS_ORIGINALS,
    "protection.draw.together": (
        *READS_ORIGINALS,
        f"{RULES}::test_restored_rows_keep_the_constraints_within_their_labels",
        f"{RULES}::test_a_combination_of_few_people_does_not_come_out",
    ),
    "protection.draw.blind": READS_ORIGINALS,
    "protection.changed_stay": LOOK_ALIKE,
    "protection.not_written": (f"{SAMPLED_FIRST}::test_classes_are_counted_in_the_sample_and_small_ones_left_out",),
    "protection.written": (
        f"{SAMPLED_FIRST}::test_every_row_is_one_that_the_generator_drew",
        f"{PERSONS}::test_the_generator_learns_whose_the_rows_are",
    ),
    "protection.where": MET,
    "protection.where.linked": MET_BY_PERSONS,
    "protection.balanced": BALANCED,
    "protection.broken.left_out": NO_ROW_BREAKS_ONE,
    "protection.broken.drawn_again": NO_ROW_BREAKS_ONE,
    "protection.left": (f"{FIRST_PAGE}::test_columns_whose_values_no_step_changed_are_those_left_as_they_are",),
    "protection.none_left": (
        f"{FIRST_PAGE}::test_columns_whose_values_no_step_changed_are_those_left_as_they_are",
        f"{CANARIES}::test_no_planted_value_comes_out",
    ),
    "protection.claimed": (
        *CLAIMED,
        f"{SAMPLED_LABELS}::test_explains_what_holds",
    ),
    "protection.proven": (
        *EVERY_CLASS,
        *CHECKED_AGAIN,
        *NOT_THE_ROWS,
    ),
    "protection.nothing_proven": (
        *NOT_THE_ROWS,
        f"{CANARIES}::test_without_protection_they_come_out",
    ),
}
"""Tests that fail if a sentence is false, by its template; those of a name hold for all names that begin with it."""
