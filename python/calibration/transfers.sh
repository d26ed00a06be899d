#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# transfers.sh STRATA TABLES OUT: makes data/transfers/ again, the same bytes each time.
# TABLES has kernels/ (ai-dynamo/aiconfigurator, systems/data: MACHINE-gemm.csv.gz, MACHINE-prefill-attention.csv.gz) and operators/
# (sitar-lab/NeuSight, scripts/asplos/data: MACHINE.csv.gz), rewritten with the columns that `strata machine fit` reads.
set -euo pipefail
strata=$1 tables=$2 out=$3
aiconfigurator="ai-dynamo/aiconfigurator, systems/data (Apache-2.0), August 2026"
neusight="sitar-lab/NeuSight (MIT), scripts/asplos/data: PyTorch 2.1, cuDNN 8.9, without cudnn.benchmark"

fit() { # MACHINE ARGUMENTS...
  echo "== $1"
  "$strata" machine fit "$@" -o "$out/$1-pytorch-eager.json"
}
kernels() { # MACHINE TABLE ARGUMENTS...
  local machine=$1 table=$2
  shift 2
  fit "$machine" --from "$tables/kernels/$table-gemm.csv.gz" --from "$tables/kernels/$table-prefill-attention.csv.gz" --source "$aiconfigurator" "$@"
}

mkdir -p "$out"
fit rtx-3090 --from timm-training-rtx-3090 --from timm-training-rtx-3090-channels-last --from timm-inference-rtx-3090
for gpu in rtx-4090 rtx-5090; do fit "$gpu" --from "timm-inference-$gpu" --from "timm-inference-$gpu-compile"; done
kernels h100-sxm h100_sxm
kernels b200 b200_sxm
kernels b300 b300_sxm
kernels gb200 gb200
kernels gb300 gb300
kernels l40s l40s
kernels rtx-pro-6000-server rtx_pro_6000_server
# Products of an A100 in a loop are faster than in training for hours: published iterations of language models on it are off by 5 % without
# them and by 9 % with them.
a100() { # MACHINE ARGUMENTS...
  fit "$@" --from "$tables/kernels/a100_sxm-prefill-attention.csv.gz" --from "$tables/operators/a100-80gb-pcie.csv.gz" --source "$aiconfigurator; $neusight"
}
a100 a100-80gb
a100 a100-40gb --measured-on a100-80gb
fit l4 --from "$tables/operators/l4.csv.gz" --source "$neusight"
# Single products of these two take 1.2 to 1.4 times what transformers of the same source show (neusight-transformers): the cards were hot.
for gpu in t4 p100; do
  zcat "$tables/operators/$gpu.csv.gz" | grep -vE '^(linear|bmm),' >"$out/$gpu.csv"
  fit "$gpu" --from "$out/$gpu.csv" --source "$neusight"
  rm "$out/$gpu.csv"
done
fit v100 --from "$tables/operators/v100-pcie.csv.gz" --source "$neusight" --measured-on v100-pcie
fit v100-pcie --from "$tables/operators/v100-pcie.csv.gz" --source "$neusight"
