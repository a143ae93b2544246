"""One persistent renderer per MuJoCo environment.

The cost of a frame is the shadow map and the multisampling, not its size. `fast` turns shadows, reflections and multisampling off and, at
small sizes, draws coarser facets and a larger frame that is averaged down: edges stay smooth, so that motion below one pixel is still seen.
"""

from dataclasses import dataclass
from typing import Any
from weakref import finalize

import numpy as np

from veridream.envs import gl
from veridream.envs.base import Quality

FULL_RESOLUTION = 128  # pixels; a smaller frame is drawn about this large and averaged down


@dataclass(frozen=True)
class Camera:
    """A camera on a point: `lookat` (m), seen from `distance` (m) in direction `azimuth`, `elevation` (degrees).

    `follow`: a body whose x (and, with `follow_y`, y) is added to lookat's. `fovy`: vertical field of view, degrees.
    """

    lookat: tuple[float, float, float]
    distance: float
    azimuth: float
    elevation: float
    follow: str | None = None
    fovy: float = 45.0
    follow_y: bool = False


class FrameRenderer:
    """Frames of one model.

    Args:
        model, data: mujoco.MjModel and MjData. Colours are uploaded now: change them before.
        camera: a `Camera`, or the name or number (as text) of one in the model.
        size: image side, pixels.
        quality: see the module.
    """

    def __init__(self, model: Any, data: Any, camera: Camera | str, size: int, quality: Quality) -> None:
        import mujoco

        self._mujoco, self._model, self._data = mujoco, model, data
        self._spec = camera
        self._fast = quality == "fast"
        self.supersample = max(1, FULL_RESOLUTION // size)
        side = size * self.supersample
        model.vis.global_.offwidth = max(model.vis.global_.offwidth, side)
        model.vis.global_.offheight = max(model.vis.global_.offheight, side)
        if self._fast:
            model.vis.quality.offsamples = 0
            model.vis.quality.shadowsize = 0
            if side <= FULL_RESOLUTION:  # facets of a few pixels: strings and spheres cost by the facet
                model.vis.quality.numslices, model.vis.quality.numstacks = 12, 8
        self._camera = self._make_camera(camera)
        self._renderer = mujoco.Renderer(model, side, side)
        self._release = finalize(self, _release, self._renderer)  # keeps the renderer alive until then, also in a cycle of garbage
        flags = self._renderer.scene.flags
        if self._fast:
            flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False
            flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False

    @property
    def description(self) -> str:
        """Backend, quality and oversampling, for the store."""
        return f"mujoco {gl.require()} {'fast' if self._fast else 'full'} {self.supersample}x{self.supersample} samples a pixel"

    def _make_camera(self, camera: Camera | str) -> Any:
        mujoco = self._mujoco
        cam = mujoco.MjvCamera()
        if isinstance(camera, Camera):
            self._model.vis.global_.fovy = camera.fovy
            cam.type = mujoco.mjtCamera.mjCAMERA_FREE
            cam.lookat[:] = camera.lookat
            cam.distance, cam.azimuth, cam.elevation = camera.distance, camera.azimuth, camera.elevation
            return cam
        number = int(camera) if camera.isdigit() else mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_CAMERA, camera)
        if not 0 <= number < self._model.ncam:
            known = [self._model.camera(i).name for i in range(self._model.ncam)]
            raise ValueError(f"unknown camera {camera!r} in params/tasks.yaml; the model has {', '.join(known)}")
        cam.type = mujoco.mjtCamera.mjCAMERA_FIXED
        cam.fixedcamid = number
        return cam

    def render(self) -> np.ndarray:
        """The current frame, uint8 [size, size, 3]. Changes nothing in the simulation."""
        spec = self._spec
        if isinstance(spec, Camera) and spec.follow is not None:
            at = self._data.body(spec.follow).xpos
            self._camera.lookat[0] = spec.lookat[0] + at[0]
            if spec.follow_y:
                self._camera.lookat[1] = spec.lookat[1] + at[1]
        self._renderer.update_scene(self._data, self._camera)
        return shrink(self._renderer.render(), self.supersample)

    def close(self) -> None:
        """Frees the rendering context; done too when the renderer is dropped without being closed."""
        self._release()


def _release(renderer: Any) -> None:
    """Frees a mujoco.Renderer as the current one: its own close would delete the like-numbered textures of whichever is current."""
    if renderer._mjr_context is not None:
        renderer._gl_context.make_current()
        renderer._mjr_context.free()
        renderer._mjr_context = None
    renderer.close()


def shrink(frame_HWC: np.ndarray, factor: int) -> np.ndarray:
    """Averages blocks of factor x factor pixels, rounded half up. uint8 in and out; the sides are multiples of factor."""
    if factor == 1:
        return frame_HWC
    n = factor * factor
    wide: Any = np.uint16 if 255 * n + n // 2 < 2**16 else np.uint32
    rows: Any = frame_HWC[::factor].astype(wide)
    for k in range(1, factor):  # slice by slice: several times as fast as a sum over two axes of blocks
        rows += frame_HWC[k::factor]
    blocks = rows[:, ::factor].copy()
    for k in range(1, factor):
        blocks += rows[:, k::factor]
    small: np.ndarray = ((blocks + n // 2) // n).astype(np.uint8)
    return small
