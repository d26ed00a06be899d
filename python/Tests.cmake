# SPDX-License-Identifier: Apache-2.0
# The tests of the Python package, in the Python that the module was built for.
function(strata_add_python_test name)
  add_test(NAME python.${name} COMMAND "${Python_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/tests/${name}_test.py" ${ARGN})
  set_tests_properties(python.${name} PROPERTIES LABELS integration TIMEOUT 600 SKIP_RETURN_CODE 77
    ENVIRONMENT "PYTHONPATH=${CMAKE_CURRENT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
endfunction()
strata_add_python_test(strata "$<TARGET_FILE:strata_cli>")
strata_add_python_test(threads)
strata_add_python_test(wheel "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
strata_add_python_test(torch)
strata_add_python_test(recording)
strata_add_python_test(recorded_steps)
strata_add_python_test(recorded_scripts "$<TARGET_FILE:strata_cli>")
strata_add_python_test(notebook "${PROJECT_SOURCE_DIR}/examples/first-steps.ipynb" "${PROJECT_SOURCE_DIR}/docs/python.md")
strata_test_takes(10 python.threads python.wheel python.torch python.recorded_scripts)
