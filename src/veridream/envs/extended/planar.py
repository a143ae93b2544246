"""MJCF of the planar animals: a trunk that slides and turns in one plane, with limbs of capsules, over a chequered floor."""

from collections.abc import Mapping

MODEL = """
<mujoco model="planar {name}">
  <include file="./common/skybox.xml"/>
  <include file="./common/visual.xml"/>
  <include file="./common/materials.xml"/>
  <compiler settotalmass="{mass}"/>
  <option timestep="0.005"/>
  <default>
    <geom type="capsule" contype="1" conaffinity="0" friction="0.9 0.1 0.1"/>
    <motor ctrlrange="-1 1" ctrllimited="true"/>
    <default class="body">
      <joint type="hinge" axis="0 1 0" limited="true" {joint}/>
      <geom rgba="{colour} 1"/>
    </default>
    <default class="root">
      <joint limited="false" armature="0" damping="0" stiffness="0"/>
    </default>
  </default>
  <worldbody>
    <geom name="ground" type="plane" size="{floor} 1 0.5" material="grid" conaffinity="1"/>
    <body name="trunk" pos="0 0 {height}" childclass="body">
      <light pos="0 0 3" mode="trackcom"/>
      <joint name="root_x" type="slide" axis="1 0 0" class="root"/>
      <joint name="root_z" type="slide" axis="0 0 1" class="root"/>
      <joint name="root_y" axis="0 1 0" class="root"/>
      {parts}
    </body>
  </worldbody>
  <sensor>
    {sensors}
  </sensor>
  <actuator>
    {motors}
  </actuator>
</mujoco>
"""
VELOCITY = '<subtreelinvel name="velocity" body="trunk"/>'


def animal(name: str, mass: float, floor: float, height: float, colour: str, joint: str, parts: str, gears: Mapping[str, float], sensors: str = "") -> str:
    """The model of one animal.

    Args:
        name: of the model.
        mass: of the whole, kg.
        floor: half its length, m.
        height: of the trunk at first, m.
        colour: red, green and blue in [0, 1], of what has none of its own.
        joint: attributes of the limbs' hinges.
        parts: MJCF of the trunk's geoms and limbs.
        gears: hinge -> gear of its motor, in the order of the actions.
        sensors: MJCF of sensors besides the trunk's `velocity`.
    """
    motors = "".join(f'<motor joint="{hinge}" gear="{gear:g}"/>' for hinge, gear in gears.items())
    whole = {"name": name, "mass": f"{mass:g}", "floor": f"{floor:g}", "height": f"{height:g}", "colour": colour, "joint": joint}
    return MODEL.format(**whole, parts=parts, sensors=sensors + VELOCITY, motors=motors)
