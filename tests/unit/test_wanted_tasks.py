"""Which tasks a scale means: names of domains, tasks without an expert, tasks that this machine cannot run."""

import pytest

from veridream.params import machine
from veridream.params.load import ParamsError, load_params
from veridream.params.slices import behaviour_counts, curiosity_stores, episode_counts, stage_params, stores
from veridream.params.tasks import registry


def test_all_and_a_domain_stand_for_their_tasks(scale):
    counts = "collect: {counts: [3]}\n"
    both = scale(counts + "tasks: {seen: [all], unseen: [all]}").tasks
    assert (len(both.seen), len(both.unseen)) == (200, 10) and both.seen[0] == "cup-catch"
    some = scale(counts + "tasks: {seen: [pygame-pong, robodesk], unseen: [pygame]}").tasks
    assert some.seen[0] == "pygame-pong" and len(some.seen) == 7 and all(t.startswith("rd-") for t in some.seen[1:])
    assert len(some.unseen) == 5 and all(registry()[t].unseen for t in some.unseen)
    with pytest.raises(ParamsError, match="named twice: pygame-pong"):
        scale(counts + "tasks: {seen: [pygame-pong, pygame]}")
    with pytest.raises(ParamsError, match="unknown task 'robodisk'"):
        scale(counts + "tasks: {seen: [pygame-pong, robodisk]}")


def test_one_count_is_every_tasks():
    p = load_params("laptop", ["collect.counts=[7]"])
    assert set(episode_counts(p).values()) == {7} and len(episode_counts(p)) == len(p.tasks.seen)


def test_a_task_without_an_expert_shows_the_other_behaviours(scale):
    p = scale("tasks: {seen: [atari-asterix, pygame-pong]}\ncollect: {counts: [4], shares: {random: 0.5, expert: 0.5}}")
    assert behaviour_counts(p, "atari-asterix", 4) == {"random": 4} and behaviour_counts(p, "pygame-pong", 4) == {"random": 2, "expert": 2}
    with pytest.raises(ParamsError, match=r"collect\.shares: atari-asterix has no expert"):
        scale("tasks: {seen: [atari-asterix, pygame-pong]}\ncollect: {counts: [4], shares: {expert: 0.4, noise: 0.6}}")
    p = scale("tasks: {unseen: [ms-push-banana, cup-catch-var1]}")
    assert [(s["role"], s["behaviour"]) for s in stores(p) if s["task"] == "ms-push-banana"] == [("targeted", "noop"), ("targeted", "random")]


SURVEY = "collect: {missing: skip, counts: [2, 3, 4]}\ntasks: {seen: [ms-reach, cup-catch, mw-push], unseen: [pygame-reacher-easy, ms-push-banana]}"
WHY = {
    "ms-reach": "task ms-reach needs mani_skill: pip install it",
    "ms-push-banana": "task ms-push-banana needs mani_skill: pip install it",
    "ms-poke-cube": "x",
}


def test_skipped_tasks_are_left_out_everywhere_and_named_in_the_index(scale, lacking):
    lacking({})
    whole = scale(SURVEY)
    before = {(s["task"], s["behaviour"]): s["episodes"] for s in stores(whole)}
    assert machine.skipped(whole) == {} and "skipped" not in stage_params(whole, "index_episodes", part="corpus")
    lacking(WHY)
    assert machine.skipped(whole) == {t: WHY[t] for t in ("ms-reach", "ms-push-banana")}
    left = {(s["task"], s["behaviour"]): s["episodes"] for s in [*stores(whole), *curiosity_stores(whole)] if s["behaviour"] != "curiosity"}
    assert left == {k: n for k, n in before.items() if not k[0].startswith("ms-")}, "the others keep their counts"
    assert not [s for s in curiosity_stores(whole) if s["task"].startswith("ms-")]
    corpus, test = (stage_params(whole, "index_episodes", part=part) for part in ("corpus", "test"))
    assert corpus["seen"] == ["cup-catch", "mw-push"] and corpus["skipped"] == {"ms-reach": WHY["ms-reach"]}
    assert test["unseen"] == ["pygame-reacher-easy"] and test["skipped"] == {"ms-push-banana": WHY["ms-push-banana"]}
    scored = stage_params(whole, "score_rollouts", model="base")
    assert (scored["seen"], scored["unseen"], len(scored["registry"])) == (["cup-catch", "mw-push"], ["pygame-reacher-easy"], 3)
    said = machine.told(machine.skipped(whole))
    assert (
        said.startswith("2 tasks are skipped: collect.missing is skip") and "ms-reach, ms-push-banana\n    task <task> needs mani_skill: pip install it" in said
    )


def test_without_skip_a_missing_simulator_changes_no_params(scale, lacking):
    p = scale(SURVEY.replace("skip", "error"))
    before = stores(p)
    lacking(WHY)
    assert machine.skipped(p) == {} and stores(p) == before and "ms-reach" in {s["task"] for s in before}


def test_skip_needs_the_doctors_word_and_enough_tasks(scale, lacking):
    p = scale(SURVEY)
    with pytest.raises(ParamsError, match="run make doctor"):
        stores(p)
    lacking(WHY | {"mw-push": "task mw-push needs metaworld"})
    with pytest.raises(ParamsError, match=r"tasks\.seen: 1 of 3 tasks can run here, 2 needed; .*needs metaworld"):
        stores(p)
