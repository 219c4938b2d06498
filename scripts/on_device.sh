#!/usr/bin/env bash
# What needs a GPU, in stages that each end within MINUTES and go on where they stopped:
#   RESULTS=runs/device DATA=KernelBenchLeaderboard/docs/assets PEER=KernelBench bash scripts/on_device.sh STAGE...
# Stages: gallery tests exploits soak verdicts peer timing build admit rate published sampling sft table. Their tables go to RESULTS/STAGE.txt, the end of each to
# the terminal. PYTHON is one with a CUDA build of PyTorch and this project's dependencies; WORKERS defaults to the cores.
set -uo pipefail
cd "$(dirname "$0")/.."
RESULTS=${RESULTS:-runs/device} MINUTES=${MINUTES:-8} PYTHON=${PYTHON:-python3} WORKERS=${WORKERS:-$(nproc)}
DATA=${DATA:-.data/leaderboard/docs/assets} PEER=${PEER:-.data/KernelBench}
export PYTHONPATH="src:benchmarks${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1 CCACHE_DISABLE=1
mkdir -p "$RESULTS"

stage() {
    case $1 in
        gallery) "$PYTHON" -m musacoder demo --backend cuda ;;
        exploits) "$PYTHON" benchmarks/exploits.py --backend cuda --out "$RESULTS/exploits.jsonl" --minutes "$MINUTES" --workers "$WORKERS" ;;
        soak) timeout "$((${MINUTES%.*} * 60))" "$PYTHON" benchmarks/soak.py --count 500 --workers "$WORKERS" --out "$RESULTS/soak.jsonl" --set backend=cuda ;;
        verdicts) verdicts --minutes "$MINUTES" ;;
        peer) verdicts --minutes "$MINUTES" --peer "$PEER" --peer-sample 8 ;;
        timing) "$PYTHON" benchmarks/timing.py --repeats 20 --minutes "$MINUTES" --out "$RESULTS/timing.json" ;;
        build) "$PYTHON" benchmarks/build.py --data "$DATA" --sample 150 --plain 40 --spoil 25 --jobs "$((WORKERS * 3 / 4))" --minutes "$MINUTES" --out "$RESULTS/build.jsonl" ;;
        admit) "$PYTHON" -m musacoder admit "$PEER/KernelBench/level1" --backend cuda --seed 5eed --record "$RESULTS/admit.jsonl" --workers 2 ;;
        tests) timeout "$((${MINUTES%.*} * 60))" "$PYTHON" -m pytest -v -p no:cacheprovider -m gpu tests ;;
        published) published ;;
        sampling) "$PYTHON" benchmarks/sampling.py --size small --prompts 512 --answers 8192 --batch 4096 --max-tokens 600 --end-share 0.002 --dtype bfloat16 --checked 64 ;;
        sft) small_model ;;
        table) tables ;;
        rate) "$PYTHON" benchmarks/simulator_rate.py --ways mini full --workers 1 2 "$WORKERS" --rounds 2 --out "$RESULTS/rate.json" ;;
        *) echo "on_device.sh: there is no stage $1" >&2 && return 2 ;;
    esac
}

# Training asks for many verdicts: a short budget for each time, and no baseline that the peer has not.
verdicts() {
    "$PYTHON" benchmarks/verdicts.py --data "$DATA" --out "$RESULTS/verdicts.json" --cache "$RESULTS/verdicts.cache" --answers 64 --seed 1 \
        --workers "$WORKERS" --set timing.compile_baseline=false --set timing.budget_seconds=0.3 "$@"
}

# Another machine goes on from the state.tar.gz that it leaves: STATE names it. OUTPUT is where the tables go, without the code of answers.
published() {
    local folder=$RESULTS/published
    [ -e "$folder/drawn.json" ] || [ -e "${STATE:-}" ] ||
        "$PYTHON" benchmarks/published.py draw --data "$DATA" --tasks "$PEER" --count "${COUNT:-100}" --compiled "${COMPILED:-40}" --out "$folder" || return
    "$PYTHON" benchmarks/published.py judge --out "$folder" --minutes "$MINUTES" --workers "$WORKERS" --backend "${BACKEND:-cuda}" \
        --results "${OUTPUT:-$RESULTS/published-results}" ${STATE:+--state "$STATE"}
}

# ROWS: a data set of rows. The model goes to OUTPUT in shards of 14 MB. An optimiser's state is too large to carry: all of it is one stage.
small_model() {
    "$PYTHON" -m musacoder sft recipes/small.yaml --data "${ROWS:-runs/data/dataset}" --run "$RESULTS/small" --minutes "$MINUTES" -v || return
    "$PYTHON" - "$RESULTS/small/model" "${OUTPUT:-$RESULTS/small-shards}" <<'END'
import sys
from transformers import AutoModelForCausalLM, AutoTokenizer
AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype="auto").save_pretrained(sys.argv[2], max_shard_size="14MB")
AutoTokenizer.from_pretrained(sys.argv[1]).save_pretrained(sys.argv[2])
END
}

# MODEL answers the fixed test sets eight times each; judged on the device, and not timed.
tables() {
    for split in unseen_combo long_chain unseen_op; do
        "$PYTHON" -m musacoder bench --suite "split:$split" --model "hf:${MODEL:-$RESULTS/small/model}" --samples 8 --run "$RESULTS/$split" --backend cuda --workers "$WORKERS" \
            --set prompt.templates=compact --set sampling.max_tokens=1200 --set model.local.together=true --set model.local.batch=2048 --set work.asking=256 --set work.waiting=4096 \
            --set verify.timing.enabled=false || return
    done
}

for name in "$@"; do
    echo "== $name"
    stage "$name" >"$RESULTS/$name.txt" 2>&1 || echo "$name ended with $?"
    tail -n "${LINES_SHOWN:-40}" "$RESULTS/$name.txt"
done
