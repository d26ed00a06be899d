// SPDX-License-Identifier: Apache-2.0
// What every browser has and TypeScript knows from 5.1 on only.

declare var DecompressionStream: {
  new (format: "deflate"): { readable: ReadableStream<Uint8Array>; writable: WritableStream<BufferSource> };
};
