set -u
nvidia-smi --query-gpu=name,clocks.sm --format=csv,noheader
(timeout 150 python -m smemnb.laboratory.bulk_values $OUT/bulk_values.json > $OUT/values.log 2>&1; echo "values rc $?") &
V=$!
timeout 240 python scratch/hopper_first.py scratch/jobs1.py 2048x2048x2048,4096x4096x4096,8192x8192x8192,1000x1512x776 > $OUT/times.log 2>&1; echo "times rc $?"
wait $V
cuobjdump --version >/dev/null 2>&1; 
timeout 60 compute-sanitizer --tool memcheck python -m smemnb.laboratory.bulk_values > $OUT/san.log 2>&1; echo "sanitizer rc $?"; tail -3 $OUT/san.log
grep -v " 0 of" $OUT/values.log | cut -c1-200
cat $OUT/times.log | cut -c1-200
