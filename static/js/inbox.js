// The inbox. What these need of each other they import themselves.

import "./clock.js";
import "./inbox/selecting.js";
import "./inbox/sending.js";
import "./inbox/live.js";
