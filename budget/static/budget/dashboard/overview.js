/* Keeps the list of pools as it is now, while somebody looks at it. */

import { localise } from "./moments.js";
import { morph } from "./morph.js";
import { partOf, Poller } from "./poller.js";

const pools = document.getElementById("pools");

async function refresh(signal) {
  const fresh = await partOf(location.href, "pools", signal);
  localise(fresh);
  morph(pools, [...fresh.children]);
  return new Date(fresh.dataset.at);
}

new Poller(document.querySelector("[data-status]"), Number(pools.dataset.every), refresh).start(
  new Date(pools.dataset.at),
);
