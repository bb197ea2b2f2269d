# tasuki_texts(OUTPUT variable NAMESPACE tasuki::report FILES page/base.js page/style.css)
#
# Makes a source file, its path in `variable`, in which the text of each file is an array of characters that has the
# file's name: base_js, style_css. Who uses one declares it: extern const char base_js[].
function(tasuki_texts)
  cmake_parse_arguments(T "" "OUTPUT;NAMESPACE" "FILES" ${ARGN})
  set(code "// Made of files by cmake/TasukiText.cmake.\nnamespace ${T_NAMESPACE} {\n")
  foreach(file ${T_FILES})
    get_filename_component(name ${file} NAME)
    string(MAKE_C_IDENTIFIER ${name} name)
    file(READ ${file} text)
    string(APPEND code "extern const char ${name}[];\nconst char ${name}[] = R\"text(${text})text\";\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/texts.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "@code@}  // namespace ${T_NAMESPACE}\n" @ONLY)
  set(${T_OUTPUT} ${source} PARENT_SCOPE)
endfunction()
