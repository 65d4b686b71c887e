/* Keeps the list of pools as it is now, while somebody looks at it. */

import { localise } from "./moments.js";

const pools = document.getElementById("pools");

async function refresh() {
  if (document.hidden) return;
  const answer = await fetch(location.href, { credentials: "same-origin", redirect: "manual" });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("pools");
  if (!fresh || fresh.textContent === pools.textContent || pools.contains(document.activeElement)) return;
  pools.replaceChildren(...document.adoptNode(fresh).childNodes);
  localise(pools);
}

setInterval(() => refresh().catch(() => {}), Number(pools.dataset.every) * 1000);
