// Limits at a cut-off: known at some places, between them by the distance from the value.

/** The last of ascending places that is not behind a cut-off. */
export function placeBefore(places, cut) {
  let [low, high] = [0, places.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (places[middle] <= cut) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The limit of a side at a cut-off; `values` is the side along the curve. */
export function limitAt(places, limit, values, cut) {
  const i = placeBefore(places, cut);
  const first = limit[i] - values[places[i]];
  if (places[i] === cut || i + 1 >= places.length) return atLeastDefined(values[cut] + first, limit[i]);
  const last = limit[i + 1] - values[places[i + 1]];
  const way = (cut - places[i]) / (places[i + 1] - places[i]);
  return atLeastDefined(values[cut] + first + way * (last - first), limit[i]);
}

function atLeastDefined(x, otherwise) {
  return Number.isNaN(x) ? otherwise : x;
}

/** Both limits of a side at a cut-off, within its range. */
export function endsAt(places, ends, values, cut, node) {
  if (!ends) return { low: null, high: null };
  const low = limitAt(places, ends.low, values, cut);
  const high = limitAt(places, ends.high, values, cut);
  return {
    low: Math.min(values[cut], Math.max(low, node.low)),
    high: Math.max(values[cut], Math.min(high, node.high)),
  };
}
