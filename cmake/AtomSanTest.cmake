# atomsan_add_test(NAME name COMMAND program [arg...]
#                  [PREDICT] [ENGINE name[,name...]] [SPEC file] [OPTIONS option...]):
# a test that records a run of a program and fails if the run breaks a block that is meant
# to be atomic, or if the program itself fails. PREDICT: or if another interleaving of it
# would. The trace is left at name.atrace in the current binary folder.
#
# The program must be built with the wrappers; in any other build there is no such test,
# and ATOMSAN_ENABLED is false.

set(ATOMSAN_ENABLED FALSE)
foreach(_atomsan_compiler "${CMAKE_C_COMPILER}" "${CMAKE_CXX_COMPILER}")
  if(_atomsan_compiler MATCHES "/atomsan-c(c|\\+\\+)$")
    set(ATOMSAN_ENABLED TRUE)
  endif()
endforeach()

function(atomsan_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "PREDICT" "NAME;ENGINE;SPEC" "COMMAND;OPTIONS")
  if(NOT arg_NAME OR NOT arg_COMMAND)
    message(FATAL_ERROR "atomsan_add_test() needs NAME and COMMAND")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "atomsan_add_test(): what is ${arg_UNPARSED_ARGUMENTS}?")
  endif()
  if(arg_PREDICT AND arg_ENGINE)
    message(FATAL_ERROR "atomsan_add_test(): PREDICT is an engine; name one of the two")
  endif()
  if(NOT ATOMSAN_ENABLED)
    return()
  endif()
  list(POP_FRONT arg_COMMAND program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  set(check check ${arg_OPTIONS})
  if(arg_PREDICT)
    set(check predict ${arg_OPTIONS})
  elseif(arg_ENGINE)
    list(APPEND check --engine=${arg_ENGINE})
  endif()
  if(arg_SPEC)
    cmake_path(ABSOLUTE_PATH arg_SPEC BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND check --spec=${arg_SPEC})
  endif()
  set(words)
  foreach(word IN LISTS check)
    string(REPLACE "'" "'\\''" word "${word}")
    string(APPEND words " '${word}'")
  endforeach()
  add_test(
    NAME ${arg_NAME}
    COMMAND sh -c "atomsan=$1 trace=$2; shift 2; \"$atomsan\" record -q -o \"$trace\" -- \"$@\" && exec \"$atomsan\"${words} \"$trace\""
            atomsan-test ${ATOMSAN_EXECUTABLE} ${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}.atrace
            ${program} ${arg_COMMAND})
endfunction()
