/* Keeps the focus where somebody put it, when a part of the page is made anew. */

/** Do something to what is within an element, then focus what stands there for what had it. */
export function keepingFocus(element, task) {
  const had = element.contains(document.activeElement) ? document.activeElement : null;
  const seen = had && [had.closest("[data-figure]")?.dataset.figure, nameOf(had)];
  task();
  if (!had || had.isConnected) return;
  const [figure, name] = seen;
  const within = (figure && element.querySelector(`[data-figure="${figure}"]`)) || element;
  [...within.querySelectorAll(had.tagName)].find((one) => nameOf(one) === name)?.focus({ preventScroll: true });
}

function nameOf(element) {
  return [element.className, element.getAttribute("href"), element.ariaLabel ?? element.textContent].join(" ");
}
