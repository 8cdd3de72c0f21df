"""The protocol of runs, explored: no state that can be reached breaks an invariant, and without any one of its guards
some state does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from explore import explore, first_with
from guards import ALL, NAMES
from invariants import INVARIANTS
from state import NOBODY, Budget, State, begun, committed

LONGEST = 20
"""Steps that a counterexample may have."""
SMALL = Budget(crashes=1, losses=1, builds=1, promotions=1)
FULL = Budget(crashes=2, losses=1, builds=1, promotions=1, abandonments=1, failures=1)
"""Three actors, two crashes anywhere, a lost lease, two runs of two batches, a promotion; of which one run may be
blocked and released, and one abandoned."""
UPKEEP = Budget(crashes=2, losses=1, builds=1, promotions=1, retentions=1, merges=1, restores=1)
BUILDS = Budget(crashes=1, losses=1, builds=2, promotions=1, abandonments=1)
WITHDRAWALS = Budget(crashes=1, losses=1, abandonments=1, failures=1, withdrawals=1)
"""With the abandonment of a run that has published, as `--published` asks."""


def fresh(_: State) -> bool:
    """Before the first run."""
    return True


def one_run(state: State) -> bool:
    """After one run of two batches."""
    return state.lease == NOBODY and len(committed(state.tables)) == 2


def built(state: State) -> bool:
    """After one run, with another version that was built from it."""
    return state.lease == NOBODY and len(state.listed) == 2


WITHOUT: dict[str, tuple[Callable[[State], bool], Budget, str]] = {
    "put_if_absent": (fresh, Budget(losses=1), "taken_once"),
    "next_number": (fresh, Budget(losses=1), "taken_once"),
    "plan_token": (fresh, Budget(crashes=1), "one_content"),
    "recover_first": (fresh, Budget(crashes=1), "leads_out"),
    "none_pending": (fresh, Budget(losses=1), "one_content"),
    "batch_order": (fresh, Budget(crashes=1), "cut_is_prefix"),
    "tables_first": (fresh, Budget(crashes=1), "tables_there"),
    "events_once": (fresh, Budget(crashes=1), "one_content"),
    "streams_once": (fresh, Budget(crashes=1), "one_content"),
    "records_once": (fresh, Budget(crashes=1), "one_content"),
    "lease_check": (built, Budget(losses=1, builds=1, promotions=1), "runs_stay"),
    "status_check": (fresh, Budget(losses=1, abandonments=1), "runs_stay"),
    "fence": (fresh, Budget(losses=1, abandonments=1), "abandoned_is_gone"),
    "abandon_first": (fresh, Budget(crashes=2, abandonments=1), "tables_there"),
    "numbers_rest": (fresh, Budget(crashes=1, abandonments=1), "one_content"),
    "check_first": (fresh, Budget(failures=1), "blocked_is_silent"),
    "check_once": (fresh, Budget(crashes=1, failures=1), "blocked_is_silent"),
    "last_commit_check": (fresh, Budget(restores=1), "one_content"),
    "settle": (fresh, Budget(crashes=1, powers=1), "tables_there"),
    "bring_up": (built, Budget(builds=1, promotions=1), "runs_stay"),
    "switch_check": (built, Budget(losses=1, builds=1, promotions=1), "runs_stay"),
    "clone_check": (one_run, Budget(losses=1, builds=1, promotions=1, abandonments=1), "one_content"),
    "list_last": (one_run, Budget(builds=1, promotions=1), "runs_stay"),
    "number_once": (one_run, Budget(losses=1, builds=2), "runs_stay"),
    "windows_kept": (fresh, Budget(retentions=1), "upkeep_spares"),
    "replay_kept": (one_run, Budget(retentions=1), "upkeep_spares"),
    "retained_check": (built, Budget(builds=1, promotions=1, retentions=1), "one_content"),
    "merge_check": (fresh, Budget(crashes=1, losses=1, merges=1, abandonments=1), "abandoned_is_gone"),
}
"""By guard, where the exploration without it begins, what may happen, and the invariant that breaks first."""


def test_no_reachable_state_breaks_an_invariant_and_from_each_commands_lead_out():
    found = explore(begun(SMALL), lead_out=True)
    assert (found.broken, found.trace) == ("", ())
    assert found.states > 30_000


@pytest.mark.long
@pytest.mark.parametrize(
    ("budget", "least"),
    [
        pytest.param(FULL, 10**6, id="runs"),
        pytest.param(UPKEEP, 10**5, id="upkeep"),
        pytest.param(BUILDS, 10**5, id="builds"),
        pytest.param(WITHDRAWALS, 5 * 10**4, id="withdrawals"),
    ],
)
def test_nor_does_one_of_all_states_that_the_bounds_allow(budget, least):
    found = explore(begun(budget), lead_out=True)
    assert (found.broken, found.trace) == ("", ())
    assert found.states > least


@pytest.mark.parametrize("guard", NAMES)
def test_without_a_guard_an_invariant_breaks_in_few_steps(guard):
    begins, budget, invariant = WITHOUT[guard]
    start = first_with(begins, budget)
    found = explore(start, ALL.without(guard), lead_out=True)
    assert found.broken.partition(":")[0] == invariant, found
    assert 0 < len(found.trace) <= LONGEST
    assert explore(start, lead_out=True).broken == ""


def test_every_invariant_breaks_without_some_guard():
    broken = {invariant for _, _, invariant in WITHOUT.values()}
    assert broken == {*(rule.__name__ for rule in INVARIANTS), "leads_out"}
