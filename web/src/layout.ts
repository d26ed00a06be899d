// SPDX-License-Identifier: Apache-2.0
// Places of the nodes of a network: a row below all of its inputs, and a lane beside what runs at the same time.

export interface GraphNode {
  name: string;
  inputs: number[]; // numbers of nodes that come before
}

export interface Placed {
  row: number;
  lane: number;
}

/// Nodes come in an order in which they can run. A node goes on in the lane of an input where that is free, so that the
/// main road stays straight; it takes the nearest free one otherwise.
export function placed(nodes: GraphNode[]): Placed[] {
  const places: Placed[] = [];
  const taken = new Map<number, Set<number>>(); // lanes by row
  const last = nodes.map((_, at) => at); // the last node that uses it
  nodes.forEach((node, at) => node.inputs.forEach((input) => (last[input] = Math.max(last[input] ?? 0, at))));
  nodes.forEach((node) => {
    const inputs = node.inputs.flatMap((input) => places[input] ?? []);
    const row = inputs.reduce((most, place) => Math.max(most, place.row + 1), 0);
    const used = taken.get(row) ?? new Set<number>();
    taken.set(row, used);
    const wanted = inputs.map((place) => place.lane).sort((a, b) => a - b);
    let lane = wanted.find((each) => !used.has(each)) ?? wanted[0] ?? 0;
    while (used.has(lane)) lane++;
    used.add(lane);
    places.push({ row, lane });
  });
  return places;
}
