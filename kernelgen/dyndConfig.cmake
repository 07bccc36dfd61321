# What find_package(dynd) reads: the targets dynd::dynd and dynd::dynd-kernelgen, and dynd_add_kernels.
include(${CMAKE_CURRENT_LIST_DIR}/dyndTargets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/dynd_add_kernels.cmake)
