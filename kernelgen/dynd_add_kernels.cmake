# dynd_add_kernels(<target> CONFIG <file> [SOURCES <file>...] [INCLUDE_DIRECTORIES <folder>...] [LIBRARIES <library>...])
#
# A plug-in <target>.so from a configuration of dynd-kernelgen. Sources, folders and libraries are those given here; what
# the configuration says of them is for dynd-kernelgen build and nd.wrap.
function(dynd_add_kernels target)
  cmake_parse_arguments(own "" "CONFIG" "SOURCES;INCLUDE_DIRECTORIES;LIBRARIES" ${ARGN})
  if(NOT own_CONFIG OR own_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "dynd_add_kernels: expected <target> CONFIG <file> [SOURCES ...] [INCLUDE_DIRECTORIES ...] "
                        "[LIBRARIES ...], got ${ARGN}")
  endif()
  if(NOT CMAKE_C_COMPILER)
    message(FATAL_ERROR "dynd_add_kernels: the project must have the language C: project(name LANGUAGES C ...)")
  endif()
  get_filename_component(config ${own_CONFIG} ABSOLUTE)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}-kernels.c)
  add_custom_command(OUTPUT ${source} COMMAND dynd::dynd-kernelgen generate ${config} -o ${source}
                     DEPENDS ${config} VERBATIM COMMENT "Wrapping ${own_CONFIG}")
  add_library(${target} MODULE ${source} ${own_SOURCES})
  set_target_properties(${target} PROPERTIES PREFIX "" C_STANDARD 11 C_EXTENSIONS ON)
  target_include_directories(${target} PRIVATE
                             $<TARGET_PROPERTY:dynd::dynd,INTERFACE_INCLUDE_DIRECTORIES> ${own_INCLUDE_DIRECTORIES})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:-Werror=incompatible-pointer-types>
                         $<$<COMPILE_LANGUAGE:C>:-Werror=implicit-function-declaration>
                         $<$<COMPILE_LANGUAGE:C>:-Werror=int-conversion>
                         $<$<COMPILE_LANGUAGE:C>:-falign-loops=32>)
  target_link_libraries(${target} PRIVATE ${own_LIBRARIES} m)
endfunction()
