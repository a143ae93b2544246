"""Videos of one model's example sequences: an mp4 and a gif each, truth beside model, predictors below."""

from veridream.figures.clip_file import load_clips
from veridream.figures.clips import write_clips
from veridream.provenance.stage import StageError, stage


def main() -> None:
    with stage("render_clips", inputs=("clips",), outputs=("folder",)) as job:
        clips = load_clips(job.input("clips"))
        if not clips:
            raise StageError(f"{job.input('clips')}: holds no clip; raise score.clips and score the model again")
        job.counts = {"clips": len(write_clips(job.out["folder"], clips))}


if __name__ == "__main__":
    main()
