"""Settings of the claims demo project, from the environment where they differ by place."""

import os
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
