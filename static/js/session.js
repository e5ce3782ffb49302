// The session page. What these need of each other they import themselves.

import "./session/slices.js";
import "./session/navigation.js";
import "./session/lenses.js";
import "./session/rail.js";
import "./session/live.js";
import "./session/strip.js";
import "./session/reviews.js";
import "./session/later.js";
import { begin } from "./session/place.js";

begin();
