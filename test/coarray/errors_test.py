#!/usr/bin/env python3
"""Mistakes of programs with coarrays: the job ends with a non-zero code, and the message says where, what, and what to do."""
import argparse
import concurrent.futures
import itertools
import os
import re
import subprocess
import sys
import threading

# name -> what stderr holds. The exit code is not 0.
MISTAKES = {
    "early": r"xmp_node_num is called before the runtime has started.*xmp_init_mpi",
    "nodes": r"prog\.c:3: error: the node array 'p' has 5 nodes, but there are 2 images.*mpirun -n 5",
    "image": r"prog\.c:12: error: the coarray 'a' names image 3, but there are images 1 to 2.*mpirun",
    "zero": r"prog\.c:12: error: the coarray 'a' names image 0",
    "no coarray": r"prog\.c:12: error: .*memory that is no coarray",
    "beyond": r"prog\.c:12: error: the reference to image 1 reaches beyond the end of",
    "bounds": r"prog\.c:12: error: dimension 1 of 'a' goes from 0 to 9.*reaches element 10",
    "section image": r"prog\.c:12: error: the coarray 'a' names image 9",
    "counts": r"prog\.c:12: error: 9 elements of 'b' are assigned to 10 elements of 'a'",
    "elements": r"prog\.c:12: error: elements of 4 bytes are assigned to elements of 2 bytes",
    "index": r"prog\.c:12: error: dimension 1 of 'a' goes from 0 to 9; element 10",
    "codimension": r"prog\.c:12: error: codimension 1 of 'a' has images 1 to 2; 3 was named",
    "unlock": r"prog\.c:12: error: unlock of image 1: nobody holds the lock",
    "atomic": r"prog\.c:12: error: atomic operations are on aligned integers",
    "post": r"prog\.c:12: error: post names image 3",
    "sync": r"xmp_sync_image names image 3",
    "device driver": r"TASUKI_CUDA=/nowhere/libcuda\.so is no CUDA driver that can be used: .*nowhere",
    "use device": r"prog\.c:12: error: the coarray 'a' has no device memory.*declare create",
    "gone": r"xmp_sync_all: 1 of the images it waits for has left main",
    "gone from task": r"xmp_sync_all: 1 of the images it waits for has left main",
    "no post": r"prog\.c:12: error: wait: image 1 has ended without this post",
    "no post of many": r"prog\.c:12: error: wait: image 1 has ended without this post",
    "no post by any": r"prog\.c:12: error: wait: all other images have ended, and there is no post",
    "no own post": r"prog\.c:12: error: wait: this image waits for a post of its own that it has not made",
    "holder": r"prog\.c:12: error: lock of image 2: the image that holds the lock has ended",
    "sizes": r"the images ask for different sizes",
    "memory": r"no memory for a coarray of 1152921504606846976 bytes",
    "free": r"xmp_cofree: 0x[0-9a-f]+ is not what xmp_comalloc has returned",
    # Records of other versions of tasukicc.
    "small coarray": r"the record of a coarray in \S+/coarray_errors-\w+ gives 96 as its size in bytes, and this library needs 104 or more.*compile it again",
    "coarray without a size": r"the record of a coarray in \S+/coarray_errors-\w+ gives \d{6,} as its size in bytes, which no version of it has.*compile it again",
    "small nodes": r"the record of a node array in \S+/coarray_errors-\w+ gives 96 as its size in bytes, and this library needs 104 or more",
    "nodes without a size": r"the record of a node array gives 1 as its size in bytes, which no version of it has",
    "small descriptor": r"the record of the descriptor of a coarray gives 96 as its size in bytes, and this library needs 104 or more",
}
# Settings of some of them.
SETTINGS = {"device driver": {"TASUKI_CUDA": "/nowhere/libcuda.so"}}
GLOBAL_MISTAKES = {
    "block": r"global_errors\.c:\d+: error: dimension 1 of the template 't' has 20 elements; 2 nodes with blocks of 9.*block\(10\)",
    "gblock": r"gblock of the template 'g': the mapping has 19 elements, the dimension 20",
    "negative": r"gblock of the template 'g': node 1 is to have -1 elements",
    "cyclic": r"dimension 1 of the template 'c' is cyclic\(0\)",
    "nodes": r"0 dimensions of the template 't' are distributed, but the node array 'p' has 1",
    "align": r"dimension 1 of 'a' is aligned with elements 1 to 20 of the template 't', which goes from 0 to 19",
    "shadow": r"dimension 1 of 'd' is cyclic and cannot have a shadow",
    "memory": r"the distributed array 'a' is larger than memory|no memory for \d+ bytes of distributed arrays",
    "open": r"prog\.c:12: error: the template 'open' has no shape yet; template_fix",
    "fixed": r"prog\.c:12: error: template_fix: the template 't' is fixed already",
    "expand": r"prog\.c:12: error: expand and margin are not for dimension 1 of 'c', which is cyclic",
    "on": r"prog\.c:12: error: dimension 1 of 't' goes from 0 to 19; 20 to 20 was named",
    "owned": r"prog\.c:12: error: element (12|8) of dimension 1 of the distributed array 'a' is not on this node",
    "width": r"prog\.c:12: error: reflect: dimension 1 of 'a' has a shadow of 1:2 elements; 2:2 are asked for",
    "no memory": r"prog\.c:12: error: the distributed array 'later' has no memory yet; xmp_malloc",
    "type": r"prog\.c:12: error: there is no such reduction on variables of this type",
    "from": r"prog\.c:12: error: bcast is from one node; 'p' names 2",
    "from outside": r"prog\.c:12: error: the node of 'p' that bcast is from is not among those",
    "counts": r"prog\.c:12: error: gmove: 4 elements are assigned to 5",
    "elements": r"prog\.c:12: error: gmove: elements of 4 bytes are assigned to elements of 8 bytes",
    "subscripts": r"prog\.c:12: error: dimension 1 of 'd' goes from 0 to 19; 18 to 22 are named",
    "parameter": r"prog\.c:12: error: the parameter 'later' is a distributed array",
    "gone": r"prog\.c:12: error: image 1, with which shadows are to be exchanged, has left main",
    "gone from reduction": r"prog\.c:12: error: image 2 waits here for image 1, which has ended",
    "gone from async": r"prog\.c:12: error: image 2 waits here for image 1, which has ended",
    "gone from bcast": r"prog\.c:12: error: image 2 waits here for image 1, which has ended",
    "gone from task": r"prog\.c:12: error: one of the 2 images that are to execute this together has ended",
    "gone from gmove": r"prog\.c:12: error: gmove: an image that is to take part has left main",
    "range": r"prog\.c:12: error: array: dimension 1 of 't' goes from 0 to 19; 2 to 20 was named",
    "length": r"prog\.c:12: error: array: the range of dimension 1 of 't' has 19 elements, and the section on the left side 18",
    "written": r"prog\.c:12: error: array: the node that has this part of the template does not have element 10 of dimension 1 of 'a'",
    "read": r"prog\.c:12: error: array: element \d+ of dimension 1 of 'd' is read on a node that does not have it",
    "twice": r"xmp_malloc: the distributed array 'later' has memory already",
    "small template": r"the record of a template in \S+/coarray_global_errors-\w+ gives 336 as its size in bytes, and this library needs 344 or more",
    "template without a size": r"the record of a template in \S+/coarray_global_errors-\w+ gives 1 as its size in bytes, which no version of it has",
    "small array": r"the record of a distributed array in \S+/coarray_global_errors-\w+ gives 760 as its size in bytes, and this library needs 768 or more",
    "array without a size": r"the record of a distributed array in \S+/coarray_global_errors-\w+ gives 2 as its size in bytes, which no version of it has",
    "small automatic template": r"prog\.c:12: error: the record of a template gives 64 as its size in bytes, and this library needs 344 or more",
    "small automatic array": r"prog\.c:12: error: the record of a distributed array gives 64 as its size in bytes, and this library needs 768 or more",
    "small parameter": r"prog\.c:12: error: the record of a distributed array gives 64 as its size in bytes, and this library needs 768 or more",
}
# Programs in which all images wait for ever: what is said of them before they are ended.
STANDSTILLS = {
    "no posts": r"all 2 images have been waiting for \d+ s.*\n  image 1, prog\.c:11: wait for a post of image 2, tag 7\n"
                r"  image 2, prog\.c:12: wait for a post of image 1, tag 7\n",
    "apart": r"image 1, prog\.c:12: wait for a post of any image\n  image 2: xmp_sync_image with image 1\n",
}
# Programs that end in order: their own exit code.
ENDINGS = {"": 0, "newer records": 0, "gone status": 3, "exit in task": 0, "exit of all": 4, "holder status": 3}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpi", required=True)
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--tasuki")
    parser.add_argument("--global-view", action="store_true", help="the mistakes of global_errors.c")
    parser.add_argument("program")
    options = parser.parse_args()
    env = {name: value for name, value in os.environ.items() if not name.startswith("TASUKI")}
    if os.getuid() == 0:
        env["OMPI_ALLOW_RUN_AS_ROOT"] = env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    # Open MPI's launcher waits before it kills what is left of a job that failed.
    env["OMPI_MCA_odls_base_sigkill_timeout"] = "0"
    command = [options.mpirun] + (["--oversubscribe"] if options.mpi == "openmpi" else []) + ["-n", "2"]
    command += [options.tasuki, "run"] if options.tasuki else []

    mistakes, endings = (GLOBAL_MISTAKES, {"": 0, "newer records": 0, "exit in task": 5}) if options.global_view else (MISTAKES, ENDINGS)
    standstills = {} if options.global_view else STANDSTILLS

    def standstill(reach, name):
        run = subprocess.Popen(command + [options.program, name], env={**env, "TASUKI_COARRAY": reach, "TASUKI_COARRAY_PATIENCE": "1"}, text=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        timer = threading.Timer(60, run.kill)
        timer.start()
        said = ""
        for line in run.stderr:
            said += line
            if "the job goes on" in line:
                break
        run.terminate()
        run.communicate()
        timer.cancel()
        return "" if re.search(standstills[name], said) else f"'{name}' ({reach}): it says\n{said}"

    def mistake(reach, name):
        """What is wrong with what the job does; nothing, if all is as it should be."""
        if name in standstills:
            return standstill(reach, name)
        run = subprocess.run(command + [options.program, name], env={**env, "TASUKI_COARRAY": reach, **SETTINGS.get(name, {})}, capture_output=True, text=True, timeout=60)
        if name in endings:
            good = run.returncode == endings[name]
        else:
            good = run.returncode != 0 and re.search(mistakes[name], run.stderr)
        return "" if good else f"'{name}' ({reach}): exit code {run.returncode}\n{run.stdout}{run.stderr}"

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [w for w in pool.map(lambda one: mistake(*one), itertools.product(("auto", "window"), (*mistakes, *endings, *standstills))) if w]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
