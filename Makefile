# A thin front: every target is a command or two that you could type yourself. The build is CMake's.
#
#   make               build into build/
#   make demo          install what is missing, build, measure, print the table (two and a half minutes of measuring)
#   make test          install what is missing, build, run every test but the slow ones
#   make test-slow     the slow ones
#   make stress MINUTES=10     random programs that know what must come out, seeds printed; SEED=.. KIND=.. RUN=.. repeat one
#   make install PREFIX=/somewhere     a tree that runs from anywhere
#   make dist | wheel  the release in out/: an archive and a wheel for glibc 2.28 and newer, checksums, list of components
#   make clean-machine SUITE=trixie     tries the release on a newly installed Debian
#   make matrix        tries the release with eleven MPI libraries, old and new; the table goes into docs/programs.md
#   make deb           Debian packages in out/deb; make clean-machine-deb tries them on a newly installed Debian
#   make asan | tsan   unit tests under sanitizers
#   make aarch64       cross-compiles for aarch64; the unit tests in an emulator (docs/aarch64.md)
#   make docs          the manual, the tutorials and the API reference as a site in build/docs/site
#   make lint          formatting, shell scripts; the layers are checked at every configure
#   make format        format the sources in place
#   make clean         remove every build tree and out/
BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
# Each test by itself waits often: for launchers, for time limits, for peers. Together they keep two cores busy.
TEST_JOBS ?= $(shell n=$$((4 * $(JOBS))); echo $$((n < 8 ? 8 : n)))
SECONDS_PER_MPI ?= 70
MINUTES ?= 10

# Open MPI refuses to run as root unless told twice; a container's only user is often root.
ifeq ($(shell id -u),0)
export OMPI_ALLOW_RUN_AS_ROOT = 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = 1
endif

# Tests that passed only when they were run again (CTEST_ARGS='--repeat until-pass:2') stand at the end.
CTEST = ../scripts/ctest.sh --output-on-failure --parallel $(TEST_JOBS) $(CTEST_ARGS)

.PHONY: all build bootstrap bootstrap-test demo test test-slow stress install dist wheel clean-machine matrix deb clean-machine-deb format lint asan tsan clang aarch64 manual docs clean

all: build

bootstrap:
	@scripts/bootstrap.sh

# And what only tests use.
bootstrap-test:
	@scripts/bootstrap.sh --for test

# Configures when needed: after the first time Ninja does it by itself.
build:
	@test -f $(BUILD)/build.ninja || { scripts/bootstrap.sh --check && cmake --preset release -B $(BUILD); }
	@cmake --build $(BUILD) --parallel $(JOBS) $(if $(PARTS),--target $(PARTS))

# Bootstrap must be through before the build looks for anything. Built is only what is run: a quarter of the steps.
demo: bootstrap
	@echo "Building the command, the shims and the benchmark's programs (some minutes the first time), then measuring each MPI for $(SECONDS_PER_MPI) s."
	@$(MAKE) --no-print-directory build PARTS=demo_parts
	@mkdir -p out
	@for mpi in openmpi mpich; do \
	  test -f $(BUILD)/lib/tasuki/libtasuki-$$mpi.so || { echo "Not built for $$mpi, not measured with it."; continue; }; \
	  set -x; $(BUILD)/bin/tasuki bench ddt --mpi $$mpi --seconds $(SECONDS_PER_MPI) --json out/ddt-$$mpi.json --html out/ddt-$$mpi.html || exit; \
	  { set +x; } 2>/dev/null; echo "Written: out/ddt-$$mpi.json out/ddt-$$mpi.html"; \
	done

test: bootstrap-test
	@$(MAKE) --no-print-directory build
	cd $(BUILD) && $(CTEST) --label-exclude slow

test-slow: bootstrap
	@$(MAKE) --no-print-directory build
	cd $(BUILD) && $(CTEST) --label-regex slow

stress: bootstrap
	@$(MAKE) --no-print-directory build
	@python3 test/stress/stress.py --tree $(BUILD) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(if $(KIND),--kind $(KIND)) \
	  $(if $(RUN),--run $(RUN)) $(STRESS_ARGS)

install: build
	cmake --install $(BUILD) --prefix $(abspath $(PREFIX))

# A build of its own, with an older glibc.
dist wheel: bootstrap
	@JOBS=$(JOBS) scripts/dist/build.sh build-dist out

# Needs root, debootstrap, and the network that apt has.
SUITE ?= trixie
clean-machine:
	@scripts/clean-machine.sh $(SUITE) out

# Needs what clean-machine needs, and PyPI.
matrix: build
	@scripts/matrix.py --jobs $(JOBS) --update

# Of what is checked out, for this machine's Debian (debian/).
deb:
	@scripts/dist/deb.sh build-deb out/deb

clean-machine-deb:
	@scripts/clean-machine.sh --deb bookworm out/deb

# The unit tests only: a sanitizer's shadow memory and a shared address space exclude each other.
asan tsan: bootstrap
	cmake --preset $(if $(filter asan,$@),asan-ubsan,tsan)
	cmake --build build-$@ --parallel $(JOBS)
	cd build-$@ && $(CTEST) --label-regex unit

# The second compiler, warnings as errors. Nothing of it is run: no optimisation, and of the programs only the commands are linked.
# CLANG_WITHOUT: a pattern of objects that are left out.
CLANG_WITHOUT ?= ^$$
clang: bootstrap
	@test -f build-clang/build.ninja || CC=clang CXX=clang++ cmake --preset release -B build-clang -DTASUKI_UNITY=OFF \
	  -DCMAKE_C_FLAGS_RELWITHDEBINFO=-O0 -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O0
	@cmake --build build-clang --parallel $(JOBS) --target bin/tasuki bin/tasukicc libexec/tasuki/tasuki-bench libexec/tasuki/tasuki-sim libexec/tasuki/python-main \
	  $$(ninja -C build-clang -t targets all | sed -nE 's/^([^:]*): [A-Z]*_(COMPILER|(STATIC|SHARED|MODULE)_LIBRARY_LINKER)__.*/\1/p' | \
	    grep -Ev '$(CLANG_WITHOUT)')

# Installs what it lacks: a cross compiler, an emulator, and arm64's libraries in a folder.
aarch64: bootstrap
	@JOBS=$(JOBS) scripts/aarch64.sh

lint:
	@scripts/lint.sh

format:
	@git ls-files '*.h' '*.c' '*.cpp' | xargs clang-format -i

# Rewrites the tables of docs/manual.md that the program itself prints, and docs/status/xmp.md from what programs test.
manual: build
	@python3 compiler/test/status_test.py --update
	@cmake -DTASUKI=$(abspath $(BUILD))/bin/tasuki -DMANUAL=docs/manual.md -DUPDATE=ON -P test/house/manual.cmake

# Installs what only the site needs. A link that leads nowhere, or a public function without a description, is an error.
docs:
	@scripts/build-docs.sh $(BUILD)/docs

clean:
	rm -rf $(BUILD) build-asan build-tsan build-clang build-dev build-dist build-deb build-aarch64 out
