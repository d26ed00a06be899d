# SPDX-License-Identifier: Apache-2.0
# The tests of the Python package, in the Python that the module was built for.
function(strata_add_python_test name script)
  add_test(NAME python.${name} COMMAND "${Python_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/tests/${script}" ${ARGN})
  set_tests_properties(python.${name} PROPERTIES LABELS integration TIMEOUT 600 SKIP_REGULAR_EXPRESSION "^skipped: "
    ENVIRONMENT "PYTHONPATH=${CMAKE_CURRENT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
endfunction()
strata_add_python_test(module strata_test.py "$<TARGET_FILE:strata_cli>")
