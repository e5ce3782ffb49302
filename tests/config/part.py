"""A part that the fork server starts in the tests: says what it is, and leaves with a status of its own."""

import json
import os
import sys
import time

if __name__ == "__main__":
    facts = {
        "argv": sys.argv[1:],
        "environment": os.environ.get("PART_OF_A_TEST"),
        "loaded_before": "django" in sys.modules,
        "protocol_loaded": "mcp" in sys.modules,
        "parent": os.getppid(),
        "session": os.getsid(0),
        "pid": os.getpid(),
    }
    print(json.dumps(facts), flush=True)
    print("a fault", file=sys.stderr, flush=True)
    if "stay" in sys.argv:
        time.sleep(60)
    sys.exit(7)
