#!/bin/bash
# One evaluation on several nodes of a Slurm cluster:
#
#     sbatch examples/cluster/slurm.sh DATA RUN
#
# DATA and RUN lie where the first node sees them.
# The same command again carries a run on that the time limit cut off.

#SBATCH --job-name=summeter
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --mem-per-cpu=4G
#SBATCH --exclusive
#SBATCH --time=12:00:00
#SBATCH --output=summeter-%j.log
# For local judges on GPUs, and then --gpus-per-worker 1 below:
##SBATCH --gpus-per-node=4

set -euo pipefail

data=${1:?"which data? sbatch slurm.sh DATA RUN"}
run=${2:?"which folder for the run? sbatch slurm.sh DATA RUN"}

# An environment with the same Python and the same Ray on every node: pip install 'summeter[ray]'
if [[ -n "${SUMMETER_VENV:-}" ]]; then
    source "$SUMMETER_VENV/bin/activate"
fi

read -r head < <(scontrol show hostnames "$SLURM_JOB_NODELIST") || { echo "no nodes in $SLURM_JOB_NODELIST" >&2; exit 1; }
port=$((20000 + SLURM_JOB_ID % 10000)) # two jobs that share a network do not meet
cpus=$SLURM_CPUS_PER_TASK
workers=$((SLURM_JOB_NUM_NODES * cpus - 1)) # one core is left to the command

# Starts Ray on every node, runs the command after -- on the first one, and stops Ray.
srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 \
    ray symmetric-run --address "$head:$port" --min-nodes "$SLURM_JOB_NUM_NODES" --num-cpus "$cpus" -- \
    summeter score "$data" -e support -o "$run" \
    --executor ray --ray-address "$head:$port" --workers "$workers" --cpus-per-worker 1
