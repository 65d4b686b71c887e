/* Changes a page in place, so that what has the focus keeps it and only what differs is told. */

/** Make an element's children like these. If the first has a `data-key`, all are known by theirs. */
export function morph(element, fresh) {
  const keys = new Set(fresh.map(keyOf));
  if (fresh.length && keyOf(fresh[0])) {
    for (const child of [...element.childNodes]) {
      if (!keys.has(keyOf(child))) child.remove();
    }
  }
  const kept = new Map([...element.childNodes].map((child) => [keyOf(child), child]));
  let place = element.firstChild;
  for (const child of fresh) {
    const old = keyOf(child) ? kept.get(keyOf(child)) : place;
    if (!old || keyOf(old) !== keyOf(child) || old.nodeName !== child.nodeName) {
      element.insertBefore(child, place);
      continue;
    }
    if (old === place) place = place.nextSibling;
    else element.insertBefore(old, place);
    become(old, child);
  }
  while (place) {
    const after = place.nextSibling;
    place.remove();
    place = after;
  }
}

/** Nodes of texts and nodes. */
export function nodes(...parts) {
  return parts.map((part) => (typeof part === "string" ? document.createTextNode(part) : part));
}

function become(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (!fresh.attributes) old.data = fresh.data;
  else {
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name)) old.removeAttribute(name);
    }
    for (const { name, value } of fresh.attributes) {
      // The content security policy forbids to write a style as text.
      if (name === "style") old.style.cssText = value;
      else if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    morph(old, [...fresh.childNodes]);
  }
}

function keyOf(node) {
  return node.dataset?.key;
}
