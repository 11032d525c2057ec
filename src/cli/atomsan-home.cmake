# Compile SOURCE to OBJECT with COMPILER: a string with the folder HOME, where the runtime looks for the reporter.
# Its symbol is hidden: only the program that the object is linked into sees it.
string(REPLACE "\\" "\\\\" text "${HOME}")
string(REPLACE "\"" "\\\"" text "${text}")
cmake_path(GET SOURCE PARENT_PATH folder)
file(MAKE_DIRECTORY "${folder}")
cmake_path(GET OBJECT PARENT_PATH folder)
file(MAKE_DIRECTORY "${folder}")
file(WRITE "${SOURCE}" "extern const char atomsan_home[] __attribute__((visibility(\"hidden\")));
const char atomsan_home[] = \"${text}\";
")
execute_process(COMMAND "${COMPILER}" -O2 -fPIC -c "${SOURCE}" -o "${OBJECT}" RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${OBJECT} could not be compiled")
endif()
