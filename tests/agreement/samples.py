"""Output as NVIDIA's tools print it, shortened: two pages of ncu, logs of compute-sanitizer."""

KERNEL = (
    "cudapy::smemnb::kernels::transpose::staged::transpose_tiled[abi:v1][abi:cw51cXTLSUwv1sDUaKtht]"
    "(Array<float, (int)2, (int)1, mutable, aligned>,"
    " Array<float, (int)2, (int)1, mutable, aligned>)"
)
ATOMIC = "cudapy::tests::count[abi:v2](Array<int, (int)1, (int)1, mutable, aligned>)"

RAW = f'''==PROF== Connected to process 4242 (/usr/bin/python3.12)
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",\
"Grid Size","Device","CC","l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",\
"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","smsp__inst_executed_op_shared_ld.sum",\
"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",\
"smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"
"","","","","","","","","","","","","sector","inst","",""
"0","4242","python3.12","127.0.0.1","{KERNEL}","1","7","(32, 32, 1)","(4, 2, 1)","0","9.0",\
"8,229","1,024","256","8,192","n/a"
"1","4242","python3.12","127.0.0.1","{ATOMIC}","1","7","(32, 1, 1)","(1, 1, 1)","0","9.0",\
"2","4.000000","1","1","n/a"
==PROF== Disconnected from process 4242
'''

HEADER = (
    '"Address","Source","# Samples","Instructions Executed","Thread Instructions Executed",'
    '"Predicated-On Thread Instructions Executed","Address Space","Access Operation",'
    '"Access Size","L1 Tag Requests Global","L1 Conflicts Shared N-Way","L1 Wavefronts Shared",'
    '"L1 Wavefronts Shared Ideal","L2 Theoretical Sectors Global"'
)
SOURCE = f'''"Kernel Name","{KERNEL}"
{HEADER}
"0x7fa1d700","      LDC R1, c[0x0][0x28] ","1","256","8192","8192","-","-","-","0","0","0","0","0"
"0x7fa1d710"," @!P0 LDG.E R2, desc[UR4][R2.64] ","3","256","8192","8000","Global","Load",\
"32","250","0","0","0","1000"
"0x7fa1d720","      LDS R5, [R4] ","9","256","8192","8192","Shared","Load","32",\
"0","32","8192","256","0"
"Kernel Name","{ATOMIC}"
{HEADER}
"0x7fa1e000","      ATOMS.ADD RZ, [R4], R5 ","1","1","32","32","Shared","Atomic","32",\
"0","4","4","1","0"
'''

RACECHECK = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at cudapy::flip_0_1_removed[abi:v1](\
Array<float, (int)1, (int)1, mutable, aligned>)+0x1b0 in /tmp/a b/flip_0_1_removed.py:5
=========     and Read access at cudapy::flip_0_1_removed[abi:v1](Array<float, (int)1, (int)1, \
mutable, aligned>)+0x210 in /tmp/a b/flip_0_1_removed.py:7 [248 hazards]
=========     and Read access at cudapy::flip_0_1_removed[abi:v1](Array<float, (int)1, (int)1, \
mutable, aligned>)+0x230 in /tmp/a b/flip_0_1_removed.py:7 [8 hazards]
=========
========= Warning: Race reported between Write access at other(int *)+0x90
=========     and Write access at other(int *)+0x90 [1 hazard]
=========
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
"""
MEMCHECK = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at cudapy::add[abi:v1](Array<float, (int)1, (int)1, mutable, aligned>)+0x70 in \
/home/me/add.py:11
=========     by thread (31,0,0) in block (0,0,0)
=========     Address 0x7f0000000200 is out of bounds
=========     Saved host backtrace up to driver entry point at kernel launch time
=========     Host Frame: cuLaunchKernel [0x2d4a17] in libcuda.so.1
=========
========= Invalid __global__ read of size 4 bytes
=========     at cudapy::add[abi:v1](Array<float, (int)1, (int)1, mutable, aligned>)+0x70 in \
/home/me/add.py:11
=========     by thread (30,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 2 errors
"""
SYNCCHECK = """========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in block.
=========     at half[abi:v1]()+0x120 in half.py:9
=========     by thread (0,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 1 error
"""
