// SPDX-License-Identifier: Apache-2.0
import { h } from "./dom";
import { offerExport } from "./export";
import { loadReport } from "./load";
import { showPage } from "./page";
import "./style.css";

const root = document.getElementById("page") as HTMLElement;
loadReport().then(
  (report) => {
    offerExport(root);
    showPage(report, root);
    performance.mark("strata-shown");
  },
  (error: unknown) =>
    root.replaceChildren(h("p", {}, `The data of this page cannot be read: ${String(error)}`)),
);
