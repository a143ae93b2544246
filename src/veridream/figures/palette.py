"""Colours and names that figures, videos and the page share. Imports no matplotlib."""

INK = "#22262e"  # text and axes; the report page recolours it for dark screens
SOFT = "#4d545f"  # secondary text
MUTED = "#7a828f"
FAINT = "#d9dde3"
SURFACE = "#fdfdfe"  # what lies behind a figure; the report page replaces it too
ACCENT = "#c2452d"
DOMAIN = {
    "dmcontrol": "#3b6fb6",
    "dmcontrol-ext": "#74a8dd",
    "metaworld": "#2f9c8f",
    "maniskill": "#7f9130",
    "mujoco": "#1f5c74",
    "pygame": "#c9507a",
    "box2d": "#d98a2b",
    "robodesk": "#a5622f",
    "ogbench": "#5a61c4",
    "atari": "#8a5fb0",
}
PREDICTOR = {"u_r": "#c2452d", "u_f": "#3b6fb6", "u_s": "#2f8f5b"}
SYMBOL = {"u_r": "$u_r$", "u_f": "$u_f$", "u_s": "$u_s$"}
NAME = {"u_r": "round-trip residual", "u_f": "flow instability", "u_s": "inter-seed variance"}


def domain_colour(domain: str) -> str:
    """The colour of a domain; grey for one that has none yet."""
    return DOMAIN.get(domain, MUTED)
