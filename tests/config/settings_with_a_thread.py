"""Settings that leave a thread behind, as a library may: no process can be forked from one that loaded them."""

import threading
from time import sleep

from config.settings import *  # noqa: F403

threading.Thread(target=sleep, args=(60,), daemon=True).start()
