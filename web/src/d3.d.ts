// SPDX-License-Identifier: Apache-2.0
// The types of what the page uses of D3: the distribution's packages come without any.

declare module "d3-scale" {
  export interface ScaleContinuousNumeric {
    (value: number): number;
    invert(place: number): number;
    domain(): number[];
    ticks(count: number): number[];
    nice(): this;
  }
  export function scaleLinear(domain: [number, number], range: [number, number]): ScaleContinuousNumeric;
  export function scaleLog(domain: [number, number], range: [number, number]): ScaleContinuousNumeric;
}

declare module "d3-scale-chromatic" {
  export function interpolateViridis(share: number): string;
}

declare module "d3-hierarchy" {
  export interface HierarchyNode<Data> {
    data: Data;
    depth: number;
    value?: number;
    children?: this[];
    sum(value: (data: Data) => number): this;
    sort(compare: (a: this, b: this) => number): this;
    leaves(): this[];
  }
  export interface HierarchyRectangularNode<Data> extends HierarchyNode<Data> {
    x0: number;
    x1: number;
    y0: number;
    y1: number;
  }
  export interface Tiling {
    ratio(ratio: number): Tiling;
  }
  export interface TreemapLayout<Data> {
    (root: HierarchyNode<Data>): HierarchyRectangularNode<Data>;
    size(size: [number, number]): this;
    paddingInner(pixels: number): this;
    paddingOuter(pixels: number): this;
    paddingTop(pixels: (node: HierarchyRectangularNode<Data>) => number): this;
    tile(tiling: Tiling): this;
  }
  export function hierarchy<Data>(data: Data): HierarchyNode<Data>;
  export function treemap<Data>(): TreemapLayout<Data>;
  export const treemapSquarify: Tiling;
}
