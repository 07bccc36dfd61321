"""Every run is the same run: hypothesis derives its examples from the test, keeps no database and has no deadline."""

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile(
    "ci", derandomize=True, database=None, deadline=None, print_blob=False, suppress_health_check=list(HealthCheck)
)
settings.load_profile("ci")
