import numpy as np
import pytest
import torch

from veridream.curiosity.collection import curiosity, plan_score, predicted_motion
from veridream.nn.dynamics import Dynamics
from veridream.nn.sampler import rollout
from veridream.nn.tokenizer import Tokenizer
from veridream.params.model import Cem, DynamicsArch, TokenizerArch
from veridream.planning.cem import Plan
from veridream.planning.imagine import Context, behaviour, encode_context, imagine
from veridream.planning.mpc import LivePlanner, behaviour_prior, goal_distance, planned, predicted_return

SETTINGS = Cem(candidates=5, elites=2, iterations=2, horizon=3, execute=2, context=4, substeps=2, seeds=2)
HOW = {"substeps": 2, "tau_ctx": 0.1}


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    tokenizer = Tokenizer(
        TokenizerArch(patch=8, width=16, heads=2, encoder_depth=1, decoder_depth=1, latents=4, latent_dim=4, time_every=0, norm_before_tanh=True), 16
    )
    dynamics = Dynamics(DynamicsArch(width=16, heads=2, depth=2, time_every=2, pack=2, registers=1, k_max=4, reward_bins=11), 4, 4)
    for p in dynamics.parameters():  # output heads start at zero; give them something to say
        torch.nn.init.normal_(p, std=0.3) if p.dim() > 1 else None
    return tokenizer.eval(), dynamics.eval()


def frames(n, size=16):
    return list(np.random.default_rng(0).integers(0, 256, (n, size, size, 3), dtype=np.uint8))


def noise():
    return torch.Generator().manual_seed(7)


def test_context_keeps_the_last_frames_and_the_actions_that_led_to_them(model):
    shown, actions = frames(6), [None, *(np.full(2, i / 10, np.float32) for i in range(1, 6))]
    context = encode_context(model[0], shown, actions, action_dim=2, most=4)
    assert context.z_CLD.shape == (4, 4, 4)
    torch.testing.assert_close(context.prev_action_CA[:, 0], torch.tensor([0.2, 0.3, 0.4, 0.5]))
    assert context.prev_action_CA[:, 2:].abs().sum() == 0 and context.mask_A.tolist() == [1, 1] + [0] * 14
    alone = encode_context(model[0], shown[-1:], actions[-1:], 2, 4)
    torch.testing.assert_close(alone.z_CLD[0], context.z_CLD[-1])


def test_first_frame_of_an_episode_has_a_zero_action(model):
    assert encode_context(model[0], frames(1), [None], 2, 4).prev_action_CA.tolist() == [[0.0] * 16]
    with pytest.raises(ValueError, match="at least one frame"):
        encode_context(model[0], frames(2), [None], 2, 4)


def test_imagination_is_the_rollout_of_every_candidate_from_one_context(model):
    tokenizer, dynamics = model
    context = encode_context(tokenizer, frames(3), [None, np.ones(2), -np.ones(2)], 2, 4)
    actions = np.random.default_rng(1).uniform(-1, 1, (5, 3, 2)).astype(np.float32)
    out = imagine(dynamics, context, actions, seeds=2, carry="mean", generator=noise(), **HOW)
    assert out.z_BHLD.shape == (5, 3, 4, 4) and out.samples_BHSLD.shape == (5, 3, 2, 4, 4) and out.reward_BH.shape == (5, 3)
    torch.testing.assert_close(out.z_BHLD, out.samples_BHSLD.mean(dim=2))
    again = imagine(dynamics, context, actions, seeds=2, carry="mean", generator=noise(), **HOW)
    assert torch.equal(out.z_BHLD, again.z_BHLD)


def test_one_candidate_equals_the_plain_rollout(model):
    tokenizer, dynamics = model
    context = encode_context(tokenizer, frames(3), [None, np.ones(2), -np.ones(2)], 2, 4)
    actions = np.full((1, 2, 2), 0.5, np.float32)
    ours = imagine(dynamics, context, actions, seeds=1, carry="first", generator=noise(), **HOW)
    led_to = torch.cat([context.prev_action_CA, torch.tensor([0.5, 0.5] + [0.0] * 14).expand(2, -1)])[None]
    plain = rollout(dynamics, context.z_CLD[None], led_to, context.mask_A[None], 2, 2, 0.1, 1, "first", noise())
    torch.testing.assert_close(ours.z_BHLD, plain.z_BHLD)
    torch.testing.assert_close(ours.reward_BH, plain.reward_BH)


def test_candidates_of_another_action_space_are_refused(model):
    context = Context(torch.zeros(1, 4, 4), torch.zeros(1, 16), 2)
    with pytest.raises(ValueError, match="3 action dimensions"):
        imagine(model[1], context, np.zeros((1, 1, 3), np.float32), seeds=1, carry="first", generator=noise(), **HOW)


def test_plan_score_mixes_mean_and_maximum():
    u = np.array([[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]])
    assert plan_score(u, 0.0).tolist() == [2.0, 2.0]
    assert plan_score(u, 1.0).tolist() == [3.0, 2.0]
    assert plan_score(u, 0.5).tolist() == [2.5, 2.0]


def test_predicted_motion_starts_from_the_last_real_latent():
    z = torch.tensor([0.5, 0.5, 1.5]).reshape(1, 3, 1, 1)
    torch.testing.assert_close(predicted_motion(torch.full((1, 1), 0.25), z), torch.tensor([[0.25, 0.0, 1.0]]))


def test_curiosity_divides_by_motion_and_clamps_it(model):
    context = encode_context(model[0], frames(2), [None, np.ones(2)], 2, 4)
    seen = []

    def residual(z):
        seen.append(z)
        return torch.ones(z.shape[:2])

    score = curiosity(model[1], residual, SETTINGS, 1.0)(context, np.zeros((4, 3, 2), np.float32), noise())
    m = predicted_motion(context.z_CLD[-1], seen[0]).clamp(min=1e-3)
    np.testing.assert_allclose(score, (1 / m).numpy().max(axis=1), rtol=1e-6)


def test_predicted_return_averages_rollouts_and_sums_rewards(model):
    context = encode_context(model[0], frames(2), [None, np.ones(2)], 2, 4)
    candidates = np.random.default_rng(0).uniform(-1, 1, (3, 3, 2)).astype(np.float32)
    score = predicted_return(model[1], SETTINGS)(context, candidates, noise())
    out = imagine(model[1], context, np.repeat(candidates, 2, axis=0), seeds=1, carry="first", generator=noise(), **HOW)
    np.testing.assert_allclose(score, out.reward_BH.sum(1).reshape(3, 2).mean(1).numpy(), rtol=1e-6)


class Screen:
    """An environment seen from the planner: frames that count the calls."""

    action_dim = 2

    def __init__(self):
        self.shown = 0

    def render(self):
        self.shown += 1
        return np.full((16, 16, 3), self.shown, np.uint8)


def test_live_planner_replans_every_execute_steps_with_all_it_has_seen(model):
    contexts = []

    def objective(context, candidates, generator):
        contexts.append(context)
        return candidates.sum(axis=(1, 2))

    planner = LivePlanner(Screen(), model[0], SETTINGS, objective, np.random.default_rng(0))
    actions = [planner.act() for _ in range(5)]
    assert [len(c.z_CLD) for c in contexts] == [1, 1, 3, 3, 4, 4]  # two iterations a plan, at steps 0, 2, 4; the context holds 4
    torch.testing.assert_close(contexts[2].prev_action_CA[1:, :2], torch.from_numpy(np.stack(actions[:2])))
    assert all(a.shape == (2,) and np.abs(a).max() <= 1 for a in actions)
    again = LivePlanner(Screen(), model[0], SETTINGS, objective, np.random.default_rng(0))
    np.testing.assert_array_equal(actions, [again.act() for _ in range(5)])


def test_goal_cost_is_the_distance_of_the_last_latent(model):
    context = encode_context(model[0], frames(2), [None, np.ones(2)], 2, 4)
    candidates, goal = np.random.default_rng(0).uniform(-1, 1, (3, 3, 2)).astype(np.float32), torch.full((4, 4), 0.5)
    score = goal_distance(model[1], SETTINGS, goal)(context, candidates, noise())
    z = imagine(model[1], context, np.repeat(candidates, 2, axis=0), seeds=1, carry="first", generator=noise(), **HOW).z_BHLD
    by_hand = [-np.mean([np.sqrt(((z[2 * i + j, -1] - 0.5).numpy() ** 2).mean()) for j in range(2)]) for i in range(3)]
    np.testing.assert_allclose(score, by_hand, rtol=1e-5)


def test_a_plan_to_a_goal_that_an_action_reaches_finds_that_action():
    """A dynamics whose next latent is its action: the closed form of the goal cost's optimum is the goal itself."""

    def score(candidates):
        return -np.sqrt(((candidates[:, -1] - np.float32([0.4, -0.6])) ** 2).mean(axis=1))

    settings = SETTINGS.model_copy(update={"candidates": 64, "elites": 8, "iterations": 8, "noise_colour": 1.0})
    plan = planned(settings, 2, score, np.random.default_rng(0))
    assert isinstance(plan, Plan) and plan.actions_HA.shape == (3, 2)
    np.testing.assert_allclose(plan.actions_HA[-1], [0.4, -0.6], atol=0.1)


@pytest.fixture(scope="module")
def imitator():
    """A dynamics whose behaviour head says tanh(its bias), whatever it sees: entry l is 0.1 (l + 1) on the first dimension, -0.3 on the second."""
    torch.manual_seed(0)
    arch = {"width": 16, "heads": 2, "depth": 2, "registers": 1, "k_max": 4, "reward_bins": 11, "agents": 2, "task_features": 6, "bc_horizon": 2}
    d = Dynamics(DynamicsArch(**arch), 4, 4)
    d.heads.behaviour.out.bias.data.view(2, 16)[:, :2] = torch.atanh(torch.tensor([[0.1, -0.3], [0.2, -0.3]]))
    return d.eval()


def test_the_behaviour_head_gives_a_plan_chunk_by_chunk(imitator):
    context, task = Context(torch.zeros(3, 4, 4), torch.zeros(3, 16), 2), torch.ones(6)
    plan = behaviour(imitator, context, 5, most=4, generator=noise(), task_F=task, **HOW)
    np.testing.assert_allclose(plan, [[0.1, -0.3], [0.2, -0.3], [0.1, -0.3], [0.2, -0.3], [0.1, -0.3]], atol=1e-6)
    assert plan.dtype == np.float32


def test_a_behaviour_warm_start_is_the_first_mean_of_every_plan(model, imitator):
    settings = SETTINGS.model_copy(update={"warm_start": "behaviour", "init_std": 1e-6, "min_std": 1e-6})
    prior = behaviour_prior(imitator, settings, torch.ones(6))
    planner = LivePlanner(Screen(), model[0], settings, lambda c, a, g: a.sum(axis=(1, 2)), np.random.default_rng(0), prior)
    np.testing.assert_allclose([planner.act() for _ in range(4)], [[0.1, -0.3], [0.2, -0.3]] * 2, atol=1e-4)
    assert behaviour_prior(imitator, SETTINGS, torch.ones(6)) is None
    for dynamics in (model[1], imitator):
        with pytest.raises(ValueError, match="last_plan"):
            behaviour_prior(dynamics, settings, None)
