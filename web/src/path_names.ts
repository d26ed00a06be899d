// SPDX-License-Identifier: Apache-2.0
// Names of layers are paths: "encoder.layer.3.attention.output.dense". What tells layers apart is the numbers and the end.
import { short } from "./dom";

/// Words at the beginning become letters until the name fits; numbers stay.
export function shortPath(name: string, most: number): string {
  const parts = name.split(/([./])/); // with what stands between them
  for (let i = 0; i + 1 < parts.length && parts.join("").length > most; i += 2) {
    const word = parts[i] ?? "";
    if (!/^\d+$/.test(word)) parts[i] = [...word][0] ?? "";
  }
  return short(parts.join(""), most);
}
