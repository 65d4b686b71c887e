/* The page of sheds, as far as it needs a script. */

import { followSpan } from "./span.js";

followSpan();
