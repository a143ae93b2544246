"""Constants every layer shares: names, shapes, row conventions, format version. Imports nothing.

Shape legend (suffix of an array's name)
    B batch   T time   H W C image   A action (ACTION_DIM)   L latent tokens   D latent or token width
    N patches   K denoising substeps   S seeds   E episodes

Row convention ("led to"): row t of an episode holds observation t and the action and reward that LED to it.
`prev_action` and `reward` are NaN exactly at `is_first` rows.
"""

FORMAT_VERSION = "2"  # of the episode store; readers refuse any other
ACTION_DIM = 16  # every action is zero-padded to this; dimensions beyond the task's own are masked

# Each domain's simulators stand in one module, imported when a task of the domain is made. A job's code is that of its own domains alone.
DOMAIN_MODULES = {
    "dmcontrol": "veridream.envs.dmcontrol",
    "dmcontrol-ext": "veridream.envs.dmcontrol_ext",
    "metaworld": "veridream.envs.metaworld",
    "maniskill": "veridream.envs.maniskill",
    "mujoco": "veridream.envs.mujoco_gym",
    "pygame": "veridream.envs.miniarcade",
    "box2d": "veridream.envs.box2d",
    "robodesk": "veridream.envs.robodesk",
    "ogbench": "veridream.envs.ogbench",
    "atari": "veridream.envs.atari",
}

BEHAVIOURS = ("noop", "random", "expert", "transformed", "noise", "switched", "curiosity", "human")
SEGMENTS = ("noop", "random", "expert", "transformed", "noise")  # what can act in a segment of a switched episode
EXPERT_BEHAVIOURS = ("expert", "transformed", "noise")  # for tasks that have an expert
ROLES = ("corpus", "targeted", "test")  # pretraining data; data collected on unseen tasks; held-out data of unseen tasks
SPLITS = ("train", "heldout", "tune", "spare")  # tune: choices are made on it, nothing is reported; spare: another replicate trains on it
PREDICTORS = ("u_r", "u_f", "u_s")  # round-trip residual, flow instability, inter-seed variance
MOTION_FLOOR = 1e-3  # lower clamp of the latent motion m in u / m
PSNR_CAP = 80.0  # dB; PSNR of (near) identical images

# Models: the base, the four arms of Table 1, the targeted finetunes of Table 2.
BASE = "base"
ARMS = ("control", "uniform_tokenizer", "uniform_dynamics", "uniform_both")
COVERAGE_AWARE = "uniform_both"  # the model every targeted finetune starts from
NO_MODEL = "none"  # random actions, a row of the closed-loop table
TARGETED_PREFIX = "targeted_"  # targeted_<source>, source one of SOURCES
SOURCES = ("noop", "random", "expert", "curiosity", "combined", "matched")  # matched: combined at one source's budget
TARGETED = tuple(TARGETED_PREFIX + s for s in SOURCES)
MODELS = (BASE, *ARMS, *TARGETED)
REPLICATE_PREFIX = "replicate_"  # replicate_<n>: the base again, with another training seed and other episode counts; params.replicates

# Columns of results/<scale>/scores/<model>.parquet, one row a held-out sequence.
SCORE_ID_COLUMNS = ("model", "task", "domain", "seen", "behaviour", "store", "episode", "start")
SCORE_COLUMNS = (
    "frames_train",  # frames of this task in the training split
    "state_x",  # the task's two coverage coordinates (tasks.yaml) at the last context frame
    "state_y",
    "recon_psnr",  # dB, Dec(Enc(o)) against o, all pixels
    "recon_psnr_fg",  # dB, pixels further than 0.1 from the task's median image
    "decoded_motion",  # frame-to-frame RMS change of decoded truth over that of the truth; 0 = dead tokenizer
    "rollout_psnr",  # dB over the horizon, MSE pooled first
    "copy_psnr",  # dB of repeating the last context frame
    "dpsnr",  # rollout_psnr - copy_psnr
    "pixel_mse",
    "copy_mse",
    "latent_rms",  # RMS of predicted minus encoded latent over the horizon
    "asr",  # action-shuffle ratio of this sequence
    "asr_shuffled",  # its numerator and denominator (mean squared latent error)
    "asr_true",
    "m",  # latent motion of the truth: mean over steps of RMS(z_t - z_{t-1})
    "m_pred",  # latent motion of the prediction
    "u_r",
    "u_f",
    "u_s",
    "u_r_norm",  # u / max(m, MOTION_FLOOR); u_s_norm is variance over motion, u_s_sd_norm its square root over motion
    "u_f_norm",
    "u_s_norm",
    "u_s_sd_norm",
)
SCORE_STEP_COLUMNS = ("u_r_steps", "u_f_steps", "u_s_steps", "psnr_steps", "copy_psnr_steps")  # list<float>, one value a rollout step
# Columns of results/<scale>/mpc/<model>.parquet, one row an episode.
MPC_COLUMNS = ("model", "task", "episode", "seed", "steps", "return", "success", "score")
