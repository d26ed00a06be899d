// SPDX-License-Identifier: Apache-2.0
// Finds the data in the page: base64 of a zlib stream, or plain JSON where the program was built without zlib.
import type { Report } from "./schema";
import { unpackSweeps } from "./sweep_columns";

async function inflated(base64: string): Promise<string> {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

export async function loadReport(): Promise<Report> {
  const element = document.getElementById("data");
  const text = element?.textContent ?? "";
  if (!element || text === "") throw new Error("the page holds no data");
  const isPacked = element.getAttribute("type")?.startsWith("application/zlib");
  const json = isPacked ? await inflated(text) : text;
  element.remove(); // a large page need not hold it twice
  return unpackSweeps(JSON.parse(json) as Report);
}
